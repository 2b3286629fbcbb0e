"""Between Python and the wire: requests, replies, failed calls. All pure."""
