"""Small programs and data that show the main road; nothing here is installed."""
