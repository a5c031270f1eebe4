"""What is kept on disk: verdicts, certificates."""
