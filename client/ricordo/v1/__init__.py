"""Generated from proto/ricordo/v1: the raw contract, for those who need it."""
