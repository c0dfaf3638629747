//! What people say in several languages, by which a question is told from others. Case, accents and marks do not count.

/// Phrases. In scripts without blanks they are looked for anywhere, in others as whole words.
pub(super) type Phrases = &'static [&'static str];

/// About oneself.
pub(super) const ABOUT_ONESELF: Phrases = &[
    "who am i", "about me", "about myself", "my name", "my profile", "my preferences", "my hobbies", "my timezone", "my time zone",
    "where do i live", "where do i work", "what do i like", "what do i prefer", "do i like", "do i prefer", "am i allergic",
    "what is my", "what's my", "what are my", "how old am i", "when is my birthday", "my birthday",
    "wer bin ich", "uber mich", "wie heisse ich", "wie heiße ich", "mein name", "mein profil", "wo wohne ich", "wo arbeite ich", "mag ich", "was ist mein",
    "was ist meine", "meine vorlieben", "mein geburtstag",
    "qui suis je", "de moi", "mon nom", "mon profil", "a propos de moi", "ou est ce que j'habite", "mes preferences", "mon anniversaire",
    "quien soy", "sobre mi", "sabes de mi", "acerca de mi", "mi nombre", "mi perfil", "donde vivo", "mis preferencias", "mi cumpleanos",
    "chi sono", "di me", "su di me", "il mio nome", "dove vivo", "le mie preferenze", "il mio compleanno",
    "quem sou eu", "sobre mim", "meu nome", "onde moro", "minhas preferencias", "meu aniversario",
    "wie ben ik", "over mij", "over mezelf", "mijn naam", "waar woon ik", "mijn voorkeuren", "mijn verjaardag",
    "kim jestem", "o mnie", "moje imie", "gdzie mieszkam",
    "кто я", "обо мне", "мое имя", "как меня зовут", "где я живу", "мои предпочтения",
    "我是谁", "我是誰", "关于我", "關於我", "知道我", "我的名字", "我叫什么", "我住在哪", "我喜欢什么", "我的生日", "了解我",
    "私は誰", "私について", "私のこと", "私の名前", "私の好み", "私の誕生日",
    "나는 누구", "나에 대해", "내 이름", "내 생일",
    "मैं कौन", "मेरे बारे में", "मेरा नाम",
    "من أنا", "عني", "ما اسمي", "اسمي",
];

/// Word by word.
pub(super) const VERBATIM: Phrases = &[
    "verbatim", "word for word", "word by word", "exact words", "exact wording", "what exactly", "exactly what", "what did i say", "what did i write",
    "what did i tell", "what did you say", "what did i ask", "what have i said", "did i say", "did i mention", "i said exactly", "quote me",
    "wortlich", "wortwortlich", "wort fur wort", "was habe ich gesagt", "was hab ich gesagt", "habe ich gesagt", "was genau",
    "mot a mot", "mot pour mot", "textuellement", "j'ai dit", "qu'ai je dit", "exactement ce que",
    "palabra por palabra", "textualmente", "que dije", "exactamente que", "dije exactamente",
    "parola per parola", "testualmente", "cosa ho detto", "che cosa ho detto",
    "palavra por palavra", "o que eu disse", "exatamente o que",
    "woord voor woord", "letterlijk", "wat zei ik", "wat heb ik gezegd",
    "slowo w slowo", "co powiedzialem", "co powiedzialam",
    "дословно", "слово в слово", "что я сказал", "что я сказала", "что я говорил", "что я говорила",
    "逐字", "原话", "原話", "我说过什么", "我說過什麼", "我说了什么", "我说过",
    "一字一句", "正確に何", "何と言った", "私は何を言",
    "정확히 뭐라고", "내가 뭐라고", "그대로 인용",
    "शब्दशः", "मैंने क्या कहा",
    "حرفيا", "ماذا قلت",
];

/// What was talked over, and how it ended.
pub(super) const DECIDED: Phrases = &[
    "we decided", "did we decide", "have we decided", "we discussed", "did we discuss", "we agreed", "did we agree", "we talked about",
    "did we talk", "we spoke about", "what was decided", "what was the decision", "our decision", "action items", "we planned", "did we plan",
    "haben wir beschlossen", "haben wir entschieden", "haben wir besprochen", "haben wir vereinbart", "wir besprochen", "wir beschlossen",
    "wir entschieden", "was wurde beschlossen",
    "avons nous decide", "nous avons decide", "on a decide", "avons nous discute", "nous avons discute", "on a discute", "avons nous convenu",
    "decidimos", "hablamos de", "hablamos sobre", "acordamos", "discutimos",
    "abbiamo deciso", "abbiamo discusso", "abbiamo parlato", "abbiamo concordato",
    "concordamos", "conversamos sobre", "falamos sobre",
    "hebben we besloten", "we besloten", "hebben we besproken", "we bespraken", "afgesproken",
    "zdecydowalismy", "ustalilismy", "rozmawialismy",
    "мы решили", "мы обсуждали", "мы обсудили", "мы договорились", "мы говорили о",
    "我们决定", "我們決定", "我们讨论", "我們討論", "我们商量", "我们谈",
    "決めた", "決まった", "話し合った", "相談した",
    "우리가 결정", "결정했", "논의했",
    "हमने तय", "हमने चर्चा",
    "قررنا", "ناقشنا", "اتفقنا",
];

/// The day before.
pub(super) const YESTERDAY: Phrases = &[
    "yesterday", "gestern", "hier soir", "d'hier", "ayer", "ieri", "ontem", "gisteren", "wczoraj", "вчера", "昨天", "昨日", "어제", "أمس",
];

/// Times that are over.
pub(super) const TIMES: Phrases = &[
    "yesterday", "last week", "last month", "last year", "last time", "the other day", "this morning", "last night", "days ago", "weeks ago",
    "months ago", "a week ago", "earlier today", "earlier this week", "last monday", "last tuesday", "last wednesday", "last thursday",
    "last friday", "last saturday", "last sunday", "recently",
    "gestern", "vorgestern", "letzte woche", "letzten monat", "letztes jahr", "letztes mal", "neulich", "heute morgen", "vor einer woche",
    "hier soir", "d'hier", "la semaine derniere", "le mois dernier", "l'annee derniere", "la derniere fois", "ce matin", "recemment", "avant hier",
    "ayer", "la semana pasada", "el mes pasado", "el ano pasado", "la ultima vez", "esta manana", "anteayer", "recientemente",
    "ieri", "la settimana scorsa", "il mese scorso", "l'anno scorso", "l'ultima volta", "stamattina",
    "ontem", "semana passada", "mes passado", "ano passado", "da ultima vez", "hoje de manha",
    "gisteren", "vorige week", "vorige maand", "vorig jaar", "de vorige keer", "vanochtend",
    "wczoraj", "w zeszlym tygodniu", "w zeszlym miesiacu",
    "вчера", "на прошлой неделе", "в прошлом месяце", "в прошлом году", "в прошлый раз", "позавчера", "недавно",
    "昨天", "前天", "上周", "上週", "上个月", "上個月", "去年", "上次", "今天早上",
    "昨日", "先週", "先月", "前回", "この前", "今朝",
    "어제", "지난주", "지난달", "작년", "지난번",
    "कल रात", "पिछले हफ्ते", "पिछले महीने",
    "أمس", "الأسبوع الماضي", "الشهر الماضي",
];

/// To remember.
pub(super) const REMEMBERED: Phrases = &[
    "remember", "recall", "remind me", "you know about", "in your memory", "from memory",
    "erinnerst du", "erinnere", "weisst du noch", "weißt du noch", "merkst du dir",
    "te souviens", "vous souvenez", "rappelle moi", "souviens toi",
    "recuerdas", "recuerdame", "te acuerdas", "recuerda",
    "ricordi", "ricordami", "ti ricordi",
    "lembra", "lembras", "lembre me", "voce lembra",
    "herinner", "weet je nog", "onthoud",
    "pamietasz", "przypomnij",
    "помнишь", "помните", "напомни", "вспомни",
    "记得", "記得", "提醒我", "回忆", "回想",
    "覚えて", "思い出",
    "기억",
    "याद है", "याद दिला",
    "تتذكر", "تذكر", "ذكرني",
];
