"""What the service is about: values, rules and ports. No I/O, no framework."""
