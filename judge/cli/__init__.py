"""The command line: parse, call one function, print or answer. Nothing is computed here."""
