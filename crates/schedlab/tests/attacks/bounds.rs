//! Input without bounds: huge plans, tables, records.
