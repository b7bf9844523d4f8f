//! The templates of errors in one file.

use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::cycles::is_test;
use crate::workspace::read;

/// What a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// `#[error("…")]`, `bail!`, `anyhow!`, `ensure!`.
    Error,
    /// `usage(…)`: a refusal of what the user wrote.
    Usage,
    /// `.context(…)`: what the error below it is about.
    Context,
}

#[derive(Debug, Clone)]
pub struct Template {
    pub text: String,
    pub line: usize,
    pub used: Use,
}

pub(super) fn of_file(path: &Path) -> Result<Vec<Template>> {
    of_source(&read(path)?).with_context(|| format!("{}: does not parse", path.display()))
}

pub(super) fn of_source(source: &str) -> Result<Vec<Template>> {
    let mut templates = Templates { found: Vec::new() };
    templates.visit_file(&syn::parse_file(source)?);
    Ok(templates.found)
}

struct Templates {
    found: Vec<Template>,
}

impl Templates {
    fn add(&mut self, tokens: TokenStream, used: Use) {
        if let Some((text, line)) = first_string(tokens) {
            self.found.push(Template { text, line, used });
        }
    }

    /// A literal, or the first of `format!`, also behind a closure, a reference or a method.
    fn add_argument(&mut self, argument: &syn::Expr, used: Use) {
        match argument {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                self.found.push(Template { text: text.value(), line: text.span().start().line, used });
            }
            syn::Expr::Macro(invocation) if invocation.mac.path.is_ident("format") => {
                self.add(invocation.mac.tokens.clone(), used);
            }
            syn::Expr::Closure(closure) => self.add_argument(&closure.body, used),
            syn::Expr::Reference(reference) => self.add_argument(&reference.expr, used),
            syn::Expr::MethodCall(call) => self.add_argument(&call.receiver, used),
            syn::Expr::Block(block) => {
                if let Some(syn::Stmt::Expr(last, None)) = block.block.stmts.last() {
                    self.add_argument(last, used);
                }
            }
            _ => {}
        }
    }
}

/// The first string among the tokens, not looking into groups.
fn first_string(tokens: TokenStream) -> Option<(String, usize)> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Literal(literal) => {
            let line = literal.span().start().line;
            syn::parse_str::<syn::LitStr>(&literal.to_string()).ok().map(|text| (text.value(), line))
        }
        _ => None,
    })
}

impl<'ast> Visit<'ast> for Templates {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("error")
            && let syn::Meta::List(list) = &attribute.meta
        {
            self.add(list.tokens.clone(), Use::Error);
        }
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        let name = invocation.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if ["bail", "anyhow", "ensure"].contains(&name.as_str()) {
            self.add(invocation.tokens.clone(), Use::Error);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func
            && path.path.segments.last().is_some_and(|segment| segment.ident == "usage")
            && let Some(argument) = call.args.first()
        {
            self.add_argument(argument, Use::Usage);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if (call.method == "context" || call.method == "with_context")
            && let Some(argument) = call.args.first()
        {
            self.add_argument(argument, Use::Context);
        }
        visit::visit_expr_method_call(self, call);
    }
}
