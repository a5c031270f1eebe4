"""Any result → text, Markdown or a self-contained page."""
