//! Links and directories that another user has planted where schedlab writes.
