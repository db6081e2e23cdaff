"""The toolkit as our authorization server, on exactly the contract's paths (seed 001, Authentication)."""
