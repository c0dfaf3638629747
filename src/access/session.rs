//! In which sessions agents may read at all: `[scope]`, as OpenClaw has it.

use super::principal::Session;
use crate::config::{ScopeConfig, ScopeDecision};

/// Whether reading is allowed in a session: the first rule that fits decides, else the default. A rule fits when all that it
/// names is so; what a session does not say fits no rule that asks for it.
pub fn may_read(config: &ScopeConfig, session: &Session) -> bool {
    let fits = |wanted: &Option<String>, said: &Option<String>| match (wanted, said) {
        (None, _) => true,
        (Some(wanted), Some(said)) => wanted.eq_ignore_ascii_case(said),
        (Some(_), None) => false,
    };
    let rule = config
        .rules
        .iter()
        .find(|rule| fits(&rule.chat_type, &session.chat_type) && fits(&rule.channel, &session.channel));
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
        assert!(may_read(&rules, &session("group", "slack")) && may_read(&rules, &session("group", "")));
        assert!(!may_read(&rules, &session("group", "discord")) && !may_read(&rules, &session("direct", "slack")));
        assert!(may_read(&config("[scope]\ndefault = \"allow\"\nrules = []"), &session("", "")));
    }
}
