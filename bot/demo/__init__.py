"""`auto-improve demo`: the whole loop in a browser; the real bot over a local Telegram with a page on it."""
