"""The wire: one file per service. Check, decode, await the app, encode."""
