"""The refund desk: a batch of tickets under a ceiling."""
