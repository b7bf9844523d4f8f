//! The modules of one crate: which file each is in, what it defines, what it imports, and every path that it writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::workspace::read;

/// Index of the crate's root in [`Tree::modules`].
pub(super) const ROOT: usize = 0;

#[derive(Debug, Default)]
pub(super) struct Tree {
    pub modules: Vec<Module>,
}

#[derive(Debug)]
pub(super) struct Module {
    pub file: PathBuf,
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    pub items: Vec<String>,
    /// `macro_rules!`, which children see without importing them.
    pub macros: Vec<String>,
    pub imports: Vec<Import>,
    pub paths: Vec<Mention>,
}

#[derive(Debug)]
pub(super) struct Import {
    /// The name that it gives; None for a glob.
    pub name: Option<String>,
    pub path: Vec<String>,
    /// `pub use` in any of its forms: a signpost, not a use.
    pub is_reexport: bool,
    pub line: usize,
}

/// A path as it is written in code.
#[derive(Debug)]
pub(super) struct Mention {
    pub path: Vec<String>,
    pub line: usize,
}

impl Tree {
    /// Parses a crate from its root file on.
    pub(super) fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree::default();
        let dir = root.parent().expect("a file is in a directory").to_path_buf();
        tree.add_file(root, dir, None)?;
        Ok(tree)
    }

    fn add_file(&mut self, file: &Path, dir: PathBuf, parent: Option<usize>) -> Result<usize> {
        let parsed = syn::parse_file(&read(file)?).with_context(|| format!("{}: does not parse", file.display()))?;
        let module = self.add_module(file, parent);
        self.add_items(&parsed.items, module, file, &dir)?;
        Ok(module)
    }

    fn add_module(&mut self, file: &Path, parent: Option<usize>) -> usize {
        self.modules.push(Module {
            file: file.to_path_buf(),
            parent,
            children: BTreeMap::new(),
            items: Vec::new(),
            macros: Vec::new(),
            imports: Vec::new(),
            paths: Vec::new(),
        });
        self.modules.len() - 1
    }

    /// `dir` is where the files of submodules are.
    fn add_items(&mut self, items: &[syn::Item], module: usize, file: &Path, dir: &Path) -> Result<()> {
        for item in items {
            if is_test(attributes(item)) {
                continue;
            }
            match item {
                syn::Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let id = match &child.content {
                        Some((_, items)) => {
                            let id = self.add_module(file, Some(module));
                            self.add_items(items, id, file, &dir.join(&name))?;
                            id
                        }
                        None => {
                            let (path, below) = file_of_module(child, file, dir, &name);
                            self.add_file(&path, below, Some(module))?
                        }
                    };
                    self.modules[module].children.insert(name, id);
                }
                syn::Item::Use(import) => {
                    let is_reexport = !matches!(import.vis, syn::Visibility::Inherited);
                    let line = import.span().start().line;
                    flatten(&import.tree, &mut Vec::new(), &mut |name, path| {
                        self.modules[module].imports.push(Import { name, path, is_reexport, line });
                    });
                }
                syn::Item::Macro(rules) if rules.ident.is_some() => {
                    let name = rules.ident.as_ref().expect("it was just seen").to_string();
                    self.modules[module].macros.push(name);
                    Paths { module: &mut self.modules[module] }.visit_item(item);
                }
                _ => {
                    self.modules[module].items.extend(name_of(item));
                    Paths { module: &mut self.modules[module] }.visit_item(item);
                }
            }
        }
        Ok(())
    }
}

/// The file of `mod name;`, and the directory of its own submodules.
fn file_of_module(item: &syn::ItemMod, file: &Path, dir: &Path, name: &str) -> (PathBuf, PathBuf) {
    let explicit = item.attrs.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    if let Some(path) = explicit {
        let path = file.parent().expect("a file is in a directory").join(path);
        let below = path.parent().expect("a file is in a directory").to_path_buf();
        return (path, below);
    }
    let below = dir.join(name);
    let beside = dir.join(format!("{name}.rs"));
    if beside.is_file() { (beside, below) } else { (below.join("mod.rs"), below) }
}

fn flatten(tree: &syn::UseTree, path: &mut Vec<String>, add: &mut impl FnMut(Option<String>, Vec<String>)) {
    match tree {
        syn::UseTree::Path(step) => {
            path.push(step.ident.to_string());
            flatten(&step.tree, path, add);
            path.pop();
        }
        syn::UseTree::Name(name) if name.ident == "self" => add(path.last().cloned(), path.clone()),
        syn::UseTree::Name(name) => {
            let name = name.ident.to_string();
            add(Some(name.clone()), path.iter().cloned().chain([name]).collect());
        }
        syn::UseTree::Rename(renamed) => {
            let mut whole = path.clone();
            if renamed.ident != "self" {
                whole.push(renamed.ident.to_string());
            }
            add(Some(renamed.rename.to_string()), whole);
        }
        syn::UseTree::Glob(_) => add(None, path.clone()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, add)),
    }
}

fn name_of(item: &syn::Item) -> Option<String> {
    Some(match item {
        syn::Item::Const(item) => item.ident.to_string(),
        syn::Item::Enum(item) => item.ident.to_string(),
        syn::Item::Fn(item) => item.sig.ident.to_string(),
        syn::Item::Static(item) => item.ident.to_string(),
        syn::Item::Struct(item) => item.ident.to_string(),
        syn::Item::Trait(item) => item.ident.to_string(),
        syn::Item::Type(item) => item.ident.to_string(),
        syn::Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| {
                    let text = list.tokens.to_string();
                    text == "test" || text.starts_with("all (test") || text.starts_with("all(test")
                })
    })
}

/// Collects the paths of one module's code.
struct Paths<'a> {
    module: &'a mut Module,
}

impl Paths<'_> {
    fn add(&mut self, path: Vec<String>, line: usize) {
        self.module.paths.push(Mention { path, line });
    }

    /// Paths among tokens that nothing has parsed: arguments of macros and attributes.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 && !path.is_empty() {
                        self.add(std::mem::take(&mut path), line);
                    }
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    if !path.is_empty() {
                        self.add(std::mem::take(&mut path), line);
                    }
                    colons = 0;
                    match other {
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        TokenTree::Literal(literal) => self.add_literal(&literal),
                        _ => {}
                    }
                }
            }
        }
        if !path.is_empty() {
            self.add(path, line);
        }
    }

    /// serde takes paths as strings.
    fn add_literal(&mut self, literal: &proc_macro2::Literal) {
        let text = literal.to_string();
        let text = text.trim_matches('"');
        if text.contains("::") && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            self.add(text.split("::").map(str::to_string).collect(), literal.span().start().line);
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            self.add(segments, path.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.visit_path(&invocation.path);
        self.add_tokens(invocation.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone());
        }
    }

    /// `use` inside a function.
    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        let line = import.span().start().line;
        flatten(&import.tree, &mut Vec::new(), &mut |_, path| self.add(path, line));
    }
}
