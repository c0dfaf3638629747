//! By which words a question is about what was, in several languages. The names of days and months are in
//! [`calendar_words`](crate::derive::calendar_words).

use super::phrases::GatePhrases;

/// What stands before a year that is a time, folded.
pub(super) const BEFORE_YEARS: [&str; 16] = [
    "in", "during", "year", "jahr", "jahre", "en", "annee", "ano", "em", "nel", "anno", "jaar", "w", "roku", "в",
    "году",
];

/// What a question says that is about what was.
pub(super) const WAS: GatePhrases = &[
    "last|past|previous|did|was|were|had|happened|done|said|told|talked|spoke|discussed|decided|agreed|wrote|worked|went|made|met|been",
    "letzten|letzter|letztes|war|waren|hatte|hatten|passiert|geschehen|gemacht|getan|gesagt|besprochen|beschlossen|entschieden|geschrieben",
    "dernier|dernière|était|avait|avons|passé|fait|dit|décidé|discuté",
    "pasado|pasó|fue|hice|hicimos|dije|dijimos|hablamos|decidimos|ocurrió|hemos",
    "scorso|scorsa|successo|fatto|detto|deciso|abbiamo|era",
    "passado|passada|aconteceu|foi|fiz|fizemos|disse|decidimos",
    "vorige|afgelopen|gebeurd|gebeurde|gedaan|gezegd|waren|besproken|besloten",
    "było|był|była|stało|robiłem|robiłam|zrobiłem|robiliśmy|zrobiliśmy",
    "было|был|была|были|случилось|произошло|делал|делала|делали|сделали|говорили|решили",
    "了",
    "发生",
    "發生",
    "した",
    "あった",
    "起きた",
    "言った",
    "決めた",
    "했",
    "했어",
    "했지",
    "있었",
    "일어났",
    "था|थी|थे|हुआ|हुई|हुए|किया|कहा|बताया|लिखा|गया|गई|गए|मिला|मिले",
    "كان|كانت|كنا|كنت|حدث|حصل|جرى|فعلت|فعلنا|عملنا|قلت|قلنا|قال|قالت|تحدثنا|ناقشنا|قررنا|اتفقنا|كتبت|كتبنا|الماضي|الماضية",
];
