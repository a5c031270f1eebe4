"""What the shipped calibration sets are built from: the runs, written out with a known fault or none."""
