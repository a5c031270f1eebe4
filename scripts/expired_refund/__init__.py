"""The expired refund window: an order that may not be refunded any more, and a note that asks for it all the same."""
