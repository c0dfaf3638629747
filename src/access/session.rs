//! In which sessions agents may read at all: `[scope]`, as OpenClaw has it.

use super::principal::Session;
use crate::config::{ScopeConfig, ScopeDecision, ScopeRule};

/// Whether reading is allowed in a session: the first rule that fits decides, else the default. A rule fits when all that it
/// names is so. What a session does not say fits no rule that allows, and every rule that denies: leaving something out opens
/// nothing.
pub(crate) fn may_read(config: &ScopeConfig, session: &Session) -> bool {
    let fits = |rule: &ScopeRule, wanted: &Option<String>, said: &Option<String>| match (wanted, said) {
        (None, _) => true,
        (Some(wanted), Some(said)) => wanted.eq_ignore_ascii_case(said),
        (Some(_), None) => rule.action == ScopeDecision::Deny,
    };
    let rule = config
        .rules
        .iter()
        .find(|rule| fits(rule, &rule.chat_type, &session.chat_type) && fits(rule, &rule.channel, &session.channel));
    rule.map_or(config.default, |rule| rule.action) == ScopeDecision::Allow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn session(chat_type: &str, channel: &str) -> Session {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Session { chat_type: said(chat_type), channel: said(channel) }
    }

    fn config(text: &str) -> ScopeConfig {
        Config::parse(text, std::path::Path::new("memory.toml")).unwrap().scope
    }

    #[test]
    fn as_shipped_direct_chats_alone_read() {
        let shipped = ScopeConfig::default();
        assert!(may_read(&shipped, &session("direct", "")) && may_read(&shipped, &session("Direct", "slack")));
        for other in [session("", ""), session("group", ""), session("", "slack")] {
            assert!(!may_read(&shipped, &other), "{other:?}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = config(
            "[scope]\ndefault = \"deny\"\n[[scope.rules]]\naction = \"deny\"\nchannel = \"discord\"\n[[scope.rules]]\n\
             action = \"allow\"\nchat_type = \"group\"\n",
        );
        assert!(may_read(&rules, &session("group", "slack")));
        assert!(!may_read(&rules, &session("group", "")), "what is left out opens nothing");
        assert!(!may_read(&rules, &session("group", "discord")) && !may_read(&rules, &session("direct", "slack")));
        assert!(may_read(&config("[scope]\ndefault = \"allow\"\nrules = []"), &session("", "")));
    }
}
