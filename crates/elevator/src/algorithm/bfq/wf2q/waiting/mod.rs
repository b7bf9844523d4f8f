//! Active entities in a red-black tree of the kernel's shape.
//!
//! The kernel's search for the smallest eligible finish gives up on a subtree if its root is not
//! eligible and the search has passed an eligible entity, so the result depends on the tree's
//! shape. Ordered by finish, then insertion; each node stores the smallest start below it; a
//! removed node with two children is replaced by its successor.
//!
//! Source: Linux 6.1 block/bfq-wf2q.c (bfq_first_active_entity) and lib/rbtree.c, which follows
//! Cormen et al., Introduction to Algorithms, chapter 13; confirmed.

use std::collections::BTreeMap;

use super::Id;

const NIL: u32 = u32::MAX;
const LEFT: usize = 0;

#[derive(Debug, Clone, Copy)]
struct Node {
    id: Id,
    start: u64,
    finish: u64,
    /// min_start of the subtree.
    least: u64,
    parent: u32,
    children: [u32; 2],
    red: bool,
}

#[derive(Debug)]
pub(super) struct Waiting {
    nodes: Vec<Node>,
    /// Entities' nodes, and free nodes.
    of: BTreeMap<Id, u32>,
    free: Vec<u32>,
    root: u32,
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting { nodes: Vec::new(), of: BTreeMap::new(), free: Vec::new(), root: NIL }
    }
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.root == NIL
    }

    pub(super) fn least_start(&self) -> Option<u64> {
        (self.root != NIL).then(|| self.node(self.root).least)
    }

    /// Smallest eligible finish, first inserted on a tie; with `gives_up` as the kernel.
    pub(super) fn first(&self, vtime: u64, gives_up: bool) -> Option<Id> {
        let (mut at, mut passed) = (self.root, None);
        while at != NIL {
            let node = self.node(at);
            let eligible = node.start <= vtime;
            let [left, right] = node.children;
            if eligible && gives_up {
                passed = Some(node.id);
            }
            if left != NIL && self.node(left).least <= vtime {
                at = left;
            } else if eligible {
                return Some(node.id);
            } else if passed.is_some() {
                return passed;
            } else {
                at = right;
            }
        }
        None
    }

    pub(super) fn insert(&mut self, id: Id, start: u64, finish: u64) {
        let (mut parent, mut side, mut at) = (NIL, LEFT, self.root);
        while at != NIL {
            side = usize::from(self.node(at).finish <= finish);
            (parent, at) = (at, self.node(at).children[side]);
        }
        let node = Node { id, start, finish, least: start, parent, children: [NIL; 2], red: true };
        let new = self.free.pop().unwrap_or(self.nodes.len() as u32);
        if new as usize == self.nodes.len() {
            self.nodes.push(node);
        } else {
            *self.node_mut(new) = node;
        }
        self.of.insert(id, new);
        match parent {
            NIL => self.root = new,
            parent => self.node_mut(parent).children[side] = new,
        }
        self.settle_upwards(new);
        self.balance_insertion(new);
    }

    pub(super) fn remove(&mut self, id: Id) {
        let old = self.of.remove(&id).expect("the entity waits");
        self.free.push(old);
        let Node { parent, children: [left, right], .. } = *self.node(old);
        // A black node may now be missing below this parent, on this side.
        let (below, side, was_red, last);
        if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            (below, side, was_red, last) = (parent, self.side_of(old), self.node(old).red, child);
            self.replace(old, child);
        } else {
            let mut successor = right;
            while self.node(successor).children[LEFT] != NIL {
                successor = self.node(successor).children[LEFT];
            }
            last = self.node(successor).children[1];
            was_red = self.node(successor).red;
            if successor == right {
                (below, side) = (successor, 1);
            } else {
                (below, side) = (self.node(successor).parent, LEFT);
                self.replace(successor, last);
                self.adopt(successor, 1, right);
            }
            self.replace(old, successor);
            self.adopt(successor, LEFT, left);
            self.node_mut(successor).red = self.node(old).red;
        }
        self.settle_upwards(below);
        if last != NIL && self.node(last).red {
            self.node_mut(last).red = false;
        } else if !was_red {
            self.balance_removal(below, side);
        }
    }

    fn balance_insertion(&mut self, mut at: u32) {
        while let parent = self.node(at).parent
            && parent != NIL
            && self.node(parent).red
        {
            // A red node is not the root, so it has a parent.
            let grandparent = self.node(parent).parent;
            let side = self.side_of(parent);
            let uncle = self.node(grandparent).children[1 - side];
            if self.is_red(uncle) {
                self.node_mut(uncle).red = false;
                self.node_mut(parent).red = false;
                self.node_mut(grandparent).red = true;
                at = grandparent;
                continue;
            }
            let mut top = parent;
            if self.side_of(at) != side {
                self.rotate(parent, side);
                top = at;
            }
            self.node_mut(top).red = false;
            self.node_mut(grandparent).red = true;
            self.rotate(grandparent, 1 - side);
            break;
        }
        let root = self.root;
        self.node_mut(root).red = false;
    }

    /// Every path below the parent on this side is one black node short.
    fn balance_removal(&mut self, mut parent: u32, mut side: usize) {
        while parent != NIL {
            let mut sibling = self.node(parent).children[1 - side];
            if self.is_red(sibling) {
                self.node_mut(sibling).red = false;
                self.node_mut(parent).red = true;
                self.rotate(parent, side);
                sibling = self.node(parent).children[1 - side];
            }
            let (near, far) =
                (self.node(sibling).children[side], self.node(sibling).children[1 - side]);
            if !self.is_red(near) && !self.is_red(far) {
                self.node_mut(sibling).red = true;
                if self.node(parent).red {
                    self.node_mut(parent).red = false;
                    return;
                }
                (parent, side) = (self.node(parent).parent, self.side_of(parent));
                continue;
            }
            if !self.is_red(far) {
                self.node_mut(near).red = false;
                self.node_mut(sibling).red = true;
                self.rotate(sibling, 1 - side);
                sibling = near;
            }
            self.node_mut(sibling).red = self.node(parent).red;
            self.node_mut(parent).red = false;
            let far = self.node(sibling).children[1 - side];
            self.node_mut(far).red = false;
            self.rotate(parent, side);
            return;
        }
    }

    /// Its other child replaces it.
    fn rotate(&mut self, at: u32, side: usize) {
        let up = self.node(at).children[1 - side];
        let middle = self.node(up).children[side];
        self.replace(at, up);
        self.adopt(at, 1 - side, middle);
        self.adopt(up, side, at);
        self.settle(at);
        self.settle(up);
    }

    /// Attaches `new`, if any, in place of `old`.
    fn replace(&mut self, old: u32, new: u32) {
        let parent = self.node(old).parent;
        if parent == NIL {
            self.root = new;
        } else {
            let side = self.side_of(old);
            self.node_mut(parent).children[side] = new;
        }
        if new != NIL {
            self.node_mut(new).parent = parent;
        }
    }

    fn adopt(&mut self, parent: u32, side: usize, child: u32) {
        self.node_mut(parent).children[side] = child;
        if child != NIL {
            self.node_mut(child).parent = parent;
        }
    }

    /// The side below the parent; left for the root.
    fn side_of(&self, at: u32) -> usize {
        let parent = self.node(at).parent;
        usize::from(parent != NIL && self.node(parent).children[1] == at)
    }

    fn settle_upwards(&mut self, mut at: u32) {
        while at != NIL {
            self.settle(at);
            at = self.node(at).parent;
        }
    }

    fn settle(&mut self, at: u32) {
        let below = self
            .node(at)
            .children
            .into_iter()
            .filter(|&child| child != NIL)
            .map(|child| self.node(child).least);
        let least = below.fold(self.node(at).start, u64::min);
        self.node_mut(at).least = least;
    }

    fn is_red(&self, at: u32) -> bool {
        at != NIL && self.node(at).red
    }

    #[inline]
    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    #[inline]
    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }
}

#[cfg(test)]
mod tests;
