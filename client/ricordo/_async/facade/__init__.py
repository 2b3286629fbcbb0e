"""The operations of the facade `Memory`, one file for each kind of memory."""
