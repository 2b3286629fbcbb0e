"""What runs in the background: one file a kind of job, `registry` has them. Rules and transactions are `app`'s."""
