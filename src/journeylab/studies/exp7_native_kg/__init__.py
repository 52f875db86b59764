"""exp7: native KG against linearised KG (prop:lis-union, thm:coupling, thm:baked-key)."""
