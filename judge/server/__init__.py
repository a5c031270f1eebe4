"""The service: HTTP API and labelling pages. Loaded by `judge serve`; needs the extra `serve`."""
