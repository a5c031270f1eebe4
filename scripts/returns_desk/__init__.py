"""The returns desk: two agents, their cases, and the states behind them."""
