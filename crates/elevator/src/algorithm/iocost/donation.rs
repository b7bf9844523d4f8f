//! Weights (one level), and the donation of unused shares. Source: Linux 6.1 block/blk-iocost.c;
//! confirmed.

/// Fixed point.
pub(super) const ONE: u64 = 65_536;

/// A flow's weight, and the share it needs if it donates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) weight: u64,
    pub(super) needs: Option<u64>,
}

/// The share that a donor keeps, by its `usage` in the last period and its virtual time in hand,
/// `ahead`.
pub(super) fn share_after_donation(usage: u64, ahead: u64, share: u64) -> u64 {
    (usage * ONE / (ONE / 2 + ahead)).clamp(1, share.max(1))
}

/// Weights in use: donors retain their need, the others grow in proportion.
pub(super) fn in_use(members: &[Member]) -> Vec<u64> {
    let kept: u64 = members.iter().filter_map(|member| member.needs).sum();
    let others: u64 =
        members.iter().filter(|member| member.needs.is_none()).map(|member| member.weight).sum();
    if others == 0 || kept >= ONE {
        return members.iter().map(|member| member.weight).collect();
    }
    let total = others * ONE / (ONE - kept);
    let of =
        |member: &Member| member.needs.map_or(member.weight, |share| (total * share / ONE).max(1));
    members.iter().map(|member| of(member).min(member.weight)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_uses_a_tenth_keeps_it_and_the_other_has_the_rest() {
        let needs = share_after_donation(ONE / 10, ONE / 2, ONE / 2);
        assert_eq!(needs, ONE / 10);
        let weight = 100 * ONE;
        let in_use =
            in_use(&[Member { weight, needs: Some(needs) }, Member { weight, needs: None }]);
        let total: u64 = in_use.iter().sum();
        let percent = in_use.map_shares(total);
        assert_eq!(percent, [10, 90]);
    }

    trait Shares {
        fn map_shares(&self, total: u64) -> Vec<u64>;
    }

    impl Shares for Vec<u64> {
        fn map_shares(&self, total: u64) -> Vec<u64> {
            self.iter().map(|weight| (weight * 1000 / total + 5) / 10).collect()
        }
    }

    #[test]
    fn no_donor_keeps_more_than_its_share_and_if_all_donate_nothing_changes() {
        assert_eq!(share_after_donation(ONE, 0, ONE / 3), ONE / 3);
        assert_eq!(share_after_donation(0, ONE / 2, ONE / 3), 1);
        let all = [Member { weight: 5, needs: Some(9) }, Member { weight: 7, needs: Some(1) }];
        assert_eq!(in_use(&all), [5, 7]);
    }
}
