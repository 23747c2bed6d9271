"""`auto-improve setup`: asks what the bot needs and writes it to HOME/.env."""
