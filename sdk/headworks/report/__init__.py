"""Reports: numbers as text, tables, pictures and pages."""
