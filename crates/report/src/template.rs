//! A template with its values: the one way in which text gets into a page or into XML.
//!
//! The ending of a template's name, `.html` or `.xml`, turns escaping on. What a terminal would
//! obey is shown in the result, also where a value was not cleaned before.

use minijinja::{Environment, Value};

/// Fills in the first of these templates, by name and text; the others are those that it includes.
///
/// # Errors
/// The template fails, which no input should cause.
pub(crate) fn fill(
    templates: &[(&'static str, &'static str)],
    values: Value,
) -> crate::Result<String> {
    let mut environment = Environment::new();
    templates.iter().try_for_each(|(name, text)| environment.add_template(name, text))?;
    let (first, _) = templates.first().expect("a page has a template");
    Ok(crate::words::escape_file(environment.get_template(first)?.render(values)?))
}
