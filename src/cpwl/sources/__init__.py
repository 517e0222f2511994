"""What people hold, as functions and networks: control laws, formulas, tables, exports of other programs."""
