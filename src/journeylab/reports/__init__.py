"""What a reader gets: figures, tables, number macros, and the typeset report of a study."""
