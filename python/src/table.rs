//! A table of columns, readable without a copy by pandas, polars, pyarrow and DuckDB.
//!
//! They share Arrow's C stream in a capsule, so none of them is needed to build or use this
//! package.

use std::sync::Arc;

use arrow_array::array::{Array, ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error::usage;

/// A table of columns.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Table(RecordBatch);

pub(crate) struct Column(Field, ArrayRef);

impl Column {
    pub(crate) fn text<T: AsRef<str>>(
        name: &str,
        values: impl Iterator<Item = Option<T>>,
    ) -> Column {
        Column::new(name, Arc::new(StringArray::from_iter(values)))
    }

    pub(crate) fn number(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
        Column::new(name, Arc::new(Float64Array::from_iter(values)))
    }

    pub(crate) fn count(name: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
        Column::new(name, Arc::new(UInt64Array::from_iter(values)))
    }

    pub(crate) fn flag(name: &str, values: impl Iterator<Item = bool>) -> Column {
        Column::new(name, Arc::new(values.map(Some).collect::<BooleanArray>()))
    }

    fn new(name: &str, values: ArrayRef) -> Column {
        Column(Field::new(name, values.data_type().clone(), true), values)
    }
}

impl Table {
    pub(crate) fn of(columns: Vec<Column>) -> PyResult<Table> {
        let (fields, values): (Vec<Field>, Vec<ArrayRef>) =
            columns.into_iter().map(|Column(field, of)| (field, of)).unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), values).map(Table).map_err(usage)
    }
}

#[pymethods]
impl Table {
    /// Arrow's C stream, according to the PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Producers may ignore the requested schema.
        let _ = requested_schema;
        let batches: Vec<Result<RecordBatch, ArrowError>> = vec![Ok(self.0.clone())];
        let reader = RecordBatchIterator::new(batches, self.0.schema());
        PyCapsule::new_with_value(
            py,
            FFI_ArrowArrayStream::new(Box::new(reader)),
            c"arrow_array_stream",
        )
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The columns as lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (field, values) in self.0.schema().fields().iter().zip(self.0.columns()) {
            all.set_item(field.name(), list(py, values)?)?;
        }
        Ok(all)
    }
}

fn list<'py>(py: Python<'py>, values: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let any = values.as_any();
    match values.data_type() {
        DataType::Utf8 => PyList::new(
            py,
            any.downcast_ref::<StringArray>().expect("its type says so").iter().collect::<Vec<_>>(),
        ),
        DataType::Float64 => PyList::new(
            py,
            any.downcast_ref::<Float64Array>()
                .expect("its type says so")
                .iter()
                .collect::<Vec<_>>(),
        ),
        DataType::UInt64 => PyList::new(
            py,
            any.downcast_ref::<UInt64Array>().expect("its type says so").iter().collect::<Vec<_>>(),
        ),
        _ => PyList::new(
            py,
            any.downcast_ref::<BooleanArray>()
                .expect("there are four types")
                .iter()
                .collect::<Vec<_>>(),
        ),
    }
}
