"""`make bench`: our tools beside a bare SDK server and beside the same writes as plain SQL, in one run."""
