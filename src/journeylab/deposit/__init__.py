"""The deposit: one archive with code, evidence, results and reports, and what describes them."""
