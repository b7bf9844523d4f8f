//! The tree compared with a linear search, and the one case in which the kernel's result differs.

use proptest::prelude::*;

use super::*;

impl Waiting {
    /// Checks the red-black invariants; returns the number of black nodes per path.
    fn depth(&self, at: u32) -> u32 {
        if at == NIL {
            return 1;
        }
        let node = self.node(at);
        for child in node.children.into_iter().filter(|&child| child != NIL) {
            assert_eq!(self.node(child).parent, at);
            assert!(!(node.red && self.is_red(child)), "no red node has a red child");
            assert!(node.least <= self.node(child).least);
        }
        let depths = node.children.map(|child| self.depth(child));
        assert_eq!(depths[0], depths[1], "every path has as many black nodes");
        depths[0] + u32::from(!node.red)
    }
}

proptest! {
    #[test]
    fn the_first_eligible_is_that_of_a_list_and_the_tree_stays_balanced(
        steps in prop::collection::vec((0_u32..60, 0_u64..40, 0_u64..40), 1..300),
    ) {
        let (mut tree, mut list) = (Waiting::default(), Vec::<(u64, u64, Id)>::new());
        for (id, start, length) in steps {
            if let Some(at) = list.iter().position(|&(.., held)| held == id) {
                list.remove(at);
                tree.remove(id);
            } else {
                let finish = start + length;
                let at = list.partition_point(|&(held, ..)| held <= finish);
                list.insert(at, (finish, start, id));
                tree.insert(id, start, finish);
            }
            tree.depth(tree.root);
            prop_assert_eq!(tree.is_empty(), list.is_empty());
            prop_assert_eq!(tree.least_start(), list.iter().map(|&(_, start, _)| start).min());
            for vtime in [0, 10, 20, 40] {
                let expected = list.iter().find(|&&(_, start, _)| start <= vtime).map(|&(.., id)| id);
                prop_assert_eq!(tree.first(vtime, false), expected);
                let found = tree.first(vtime, true);
                prop_assert_eq!(found.is_some(), expected.is_some());
                prop_assert!(found.is_none_or(|found| tree.node(tree.of[&found]).start <= vtime));
            }
        }
    }
}

#[test]
fn the_kernels_search_gives_up_below_a_top_that_is_not_eligible_after_one_that_is() {
    let mut tree = Waiting::default();
    // The root finishes at 40; its left child 20 is not eligible, but that one's child 30 is.
    for (id, start, finish) in [(0, 0, 40), (1, 15, 20), (2, 0, 50), (3, 0, 30)] {
        tree.insert(id, start, finish);
    }
    assert_eq!(tree.first(10, false), Some(3));
    assert_eq!(tree.first(10, true), Some(0));
    assert_eq!(tree.first(20, true), Some(1));
}
