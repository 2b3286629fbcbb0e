"""Messages to domain values and back: pure functions, one file per noun."""
