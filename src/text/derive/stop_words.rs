//! Words that every text of a language has, and that say nothing of what is looked for; and how common words are in everyday prose, whatever the
//! vault: in a small one stop words would weigh like names.
//!
//! They are searched for as all words are; this is about what is shown of them.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::words::{Stemming, fold, plain_words};
use crate::base::config::StemmerLanguage::{self, *};

/// The commonest of each language, as they are written.
const LISTS: &[(StemmerLanguage, &str)] = &[
    (
        English,
        "a about after again all also am an and any are aren't as at be because been before being between both but by can \
         can't cannot could couldn't did didn't do does doesn't doing don't during each few for from further had hadn't has \
         hasn't have haven't having he he's her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't \
         it it's its itself just let's me might more most must my myself no nor not now of off on once only or other our ours \
         ourselves out over own same shall she she's should shouldn't so some such than that that's the their theirs them \
         themselves then there there's these they they're this those through to too under until up us very was wasn't we we're \
         were weren't what what's when where which while who who's whom whose why will with won't would wouldn't you you're \
         your yours yourself",
    ),
    (
        German,
        "aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des die dies diese \
         diesem diesen dieser doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen habe haben \
         hast hat hatte hatten hier ich ihm ihn ihr ihre ihrem ihren im in ist ja jede jedem jeden jeder kann kein keine \
         können machen man mein meine mich mir mit muss müssen nach nicht noch nun nur ob oder ohne sehr sein seine seinem \
         seinen seiner sich sie sind so soll sollen über um und uns unser unter vom von vor wann war waren warum was weil \
         welche welcher wenn wer werden wie wieder will wir wird wo wurde würde zu zum zur zwischen",
    ),
    (
        French,
        "à ai as au aux avait avec avez avons c'est ce ces cet cette comme d'un d'une dans de des donc du elle elles en es est \
         et étaient était été être eux il ils j'ai je l'on la le les leur leurs lui ma mais me même mes moi mon n'est ne nos \
         notre nous on ont ou où par pas pour qu'est qu'il que quel quelle quels qui quoi sa sans se sera ses si son sont sur \
         ta te tes toi ton tu un une vos votre vous y",
    ),
    (
        Spanish,
        "a al algo ante aquí así aún como con cual cuál cuando cuándo de del desde donde dónde el él ella ellas ellos en entre \
         era es esa ese eso esta está están estar este esto estos fue ha han hasta hay he la las le les lo los más me mi mis muy \
         no nos nosotros o os otra otro para pero por porque que qué quien quién se ser si sí sin sobre son soy su sus también te \
         tiene tu tus un una unas uno unos y ya yo",
    ),
    (
        Portuguese,
        "a ao aos as às com como da das de dela dele do dos e é ela elas ele eles em entre era essa esse esta está este eu foi há \
         isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela \
         pelo por porque qual quando quem que se sem ser seu seus só sua suas também te tem têm ter um uma você vocês",
    ),
    (
        Italian,
        "a ad ai al alla alle allo anche c'è che chi ci come con cosa da dai dal dalla dei del della delle dello di dove e è ed \
         era essere gli ha hai hanno ho i il in io l'ho la le lei li lo loro lui ma mi mia mio ne nei nel nella noi non nostra \
         nostro o per perché più quale quando quella quello questa questo se sei si sia siamo sono su sua sul sulla suo ti tra tu \
         un una uno vi voi",
    ),
    (
        Dutch,
        "aan als al alle bij dan dat de deze die dit doch door dus een en er ge geen had hadden heb hebben heeft hem het hier hij \
         hoe hun ik in is ja je jij jou jouw kan kunnen maar me met mij mijn moet na naar niet nog nu of om omdat ons onze ook op \
         over te tot u uit van veel voor waar waarom wanneer waren was wat we wel welke werd wie wij wil worden zal ze zich zij \
         zijn zo zou",
    ),
    (
        Swedish,
        "alla allt än ännu är att av bara blev bli blir de dem den denna deras dess det detta dig din du där då efter ej eller en \
         er ett från för ha hade han hans har hennes henne hon honom hur här i icke inte ja jag kan kunde man med men mig min \
         mot mycket ni nu när någon något och om oss på sedan sig sin ska skulle som så till under upp ut vad var varför vem vi \
         vid vilken vill",
    ),
    (
        Norwegian,
        "alle at av ble bli blir da de dem den denne der deres det dette dig din du eller en er et etter for fra før ha hadde han \
         hans har hennes her hos hun hva hvem hvis hvor hvordan hvorfor i ikke inn jeg kan kunne man med meg men mer min mot må når \
         noe noen nå og også om opp oss over på seg selv sin skal skulle slik som så til under ut var ved vi vil være",
    ),
    (
        Danish,
        "af alle at blev blive bliver da de dem den denne der deres det dette dig din du efter eller en er et for fra før ham han \
         hans har havde hende hendes her hos hun hvad hvem hvis hvor hvordan hvorfor i ikke ind jeg kan kunne man med meget men mig \
         min mod må ned noget nogle nu når og også om op os over på sig sin skal skulle som så til ud under var ved vi vil være",
    ),
    (
        Finnish,
        "ei eivät en että he hän häneen hänen ja joka jos jossa jota jotka kanssa ketkä koska kuin kuka kun me meidän mihin mikä \
         miksi minkä minun minä missä miten mitä mukaan mutta myös ne niiden niin nyt näin oli olivat olla olen olet on ovat se \
         sekä sen siellä sinun sinä sitä tai te teidän tämä tämän tässä vai vain voi",
    ),
    (
        Hungarian,
        "a az abban ahol ami amikor amit az azt azok be csak de e egy el ember én és ez ezek ezt fel ha hanem hogy hogyan hol ide \
         igen így is itt ki kell kik le lehet lesz ma már még meg mert mi miért mikor milyen mind mit most nagyon ne nekem nem nincs \
         ő ők olyan ott pedig rá s sem te ti úgy vagy van vannak volt",
    ),
    (
        Romanian,
        "a acea aceasta această acest acesta ai al ale am ar are așa au aș ca care ce cea cei cel cine când cu cum că da dacă dar de \
         decât deci din doar după e ea ei el ele era este eu fi fie fost iar îl îmi în își la lor lui mai mea meu mi mult ne nici noi \
         nu o pe pentru prin sa sau se și sunt sub te tu un una unde unei unor unui va voi",
    ),
    (
        Turkish,
        "acaba ama ben beni bir biri biz bu bunu çok çünkü da daha de değil diye en gibi hem hep her için ile ise kadar ki kim mı mi mu \
         mü nasıl ne neden nerede niçin o olan olarak oldu olduğu onlar onu sen siz şey şu tüm var ve veya ya yok",
    ),
    (
        Russian,
        "а без более бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть ещё же за и из или \
         им их к как какая какой когда кто ли меня мне много мой мы на над не него нее нет ни но ну о об он она они оно от по под при \
         про с себя со так такой там те тебя то того тоже только том ты у уже что чего чем чтобы эта эти это этот я",
    ),
    (
        Greek,
        "ένα ένας από για δεν είναι είχε εμείς εσύ εγώ η ήταν θα και κι μας με μη μια μου να ο οι όπως όταν ότι που πού πως πώς σας σε \
         στη στην στις στο στον στους τα τη την της τι τις το τον του τους των ως",
    ),
    (
        Arabic,
        "أن أنا أنت أو أي أين إلى إن التي الذي ثم حتى عن على عند غير في قد كان كانت كل كيف لا لم لماذا لن ليس ما متى مع من منذ نحن هذا هذه \
         هل هم هو هي و يا",
    ),
    (
        Tamil,
        "அது அந்த அவர் அவள் அவன் ஆக இது இந்த இருந்து இல்லை உள்ள எந்த எப்படி எப்போது என் என்று என்ன ஏன் ஒரு ஓர் தான் நாம் நான் நீ மற்றும் யார்",
    ),
];

/// The folded words of a query that are no stop words. They are those of the stemmer's language, or of another where at least two of the
/// words are, and more of them: people search in languages that they have not set.
pub(crate) fn without<'w>(words: &[&'w String], stemmer: StemmerLanguage) -> Vec<&'w String> {
    let mut best = if stemmer == None { English } else { stemmer };
    let counts = counts(words.iter().copied());
    for (language, _) in LISTS {
        if counts[*language as usize] >= 2.max(counts[best as usize] + 1) {
            best = *language;
        }
    }
    let says = |word: &str| BY_WORD.get(word).is_none_or(|languages| *languages >> best as u32 & 1 == 0);
    words.iter().copied().filter(|word| says(word)).collect()
}

/// Whether a folded word is a stop word of any language.
pub(crate) fn is_one(word: &str) -> bool {
    BY_WORD.contains_key(word)
}

/// How many of the folded words are stop words of each language, by its number.
pub(super) fn counts<'w>(words: impl Iterator<Item = &'w String>) -> [usize; LANGUAGES] {
    let mut counts = [0; LANGUAGES];
    for languages in words.filter_map(|word| BY_WORD.get(word)) {
        counts.iter_mut().enumerate().for_each(|(at, count)| *count += (*languages >> at & 1) as usize);
    }
    counts
}

/// As many numbers as languages have.
const LANGUAGES: usize = Turkish as usize + 1;

/// The languages of each word, a bit for each.
static BY_WORD: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut by_word: HashMap<String, u32> = HashMap::new();
    for (language, list) in LISTS {
        let folded = list.split_whitespace().map(|word| fold(word).replace('\'', ""));
        folded.for_each(|word| *by_word.entry(word).or_default() |= 1 << *language as u32);
    }
    by_word
});

/// By language: classes of words, each after the share of chunks that have them.
const COMMON_WORDS: &str = include_str!("common_words.txt");

/// The shares of a language's words and of their stems. Words that are not in it are in no chunk.
#[derive(Debug, Default)]
pub(crate) struct CommonWords {
    words: HashMap<String, f64>,
    stems: HashMap<String, f64>,
}

impl CommonWords {
    /// Those of a language. Made once, and the same for everyone, so that nothing in a vault moves a score of another.
    pub(crate) fn of(language: StemmerLanguage) -> &'static Self {
        static KNOWN: [OnceLock<CommonWords>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];
        KNOWN[language as usize].get_or_init(|| Self::read(language))
    }

    fn read(language: StemmerLanguage) -> Self {
        let name = format!("{language:?}").to_lowercase();
        let mut stemming = Stemming::new(language);
        let mut common = Self::default();
        let mut share = Option::None;
        for line in COMMON_WORDS.lines().filter(|line| !line.starts_with('#')) {
            if let Some((language, number)) = line.split_once(' ')
                && let Ok(number) = number.parse::<f64>()
            {
                share = (language == name).then_some(number);
                continue;
            }
            let Some(share) = share else { continue };
            for word in plain_words(line, false) {
                common.stems.entry(stemming.stem(&word).to_owned()).or_insert(share);
                common.words.entry(word).or_insert(share);
            }
        }
        common
    }

    /// The share of chunks with a word.
    pub(crate) fn share(&self, word: &str) -> f64 {
        self.words.get(word).copied().unwrap_or_default()
    }

    /// The share of chunks with a stem.
    pub(crate) fn stem_share(&self, stem: &str) -> f64 {
        self.stems.get(stem).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(query: &str, stemmer: StemmerLanguage) -> Vec<String> {
        let words = super::super::words::plain_words(query, true);
        without(&words.iter().collect::<Vec<_>>(), stemmer).into_iter().cloned().collect()
    }

    #[test]
    fn what_is_left_says_what_is_looked_for() {
        for (query, expected) in [
            ("who has the tile cutter", "tile cutter"),
            ("how do I know the dough hasn't risen", "know dough risen"),
            ("wo ist der Schlüssel für das Fahrrad", "schlussel fahrrad"),
            ("où est la clé du vélo", "cle velo"),
            ("¿dónde está la llave de la bicicleta?", "llave bicicleta"),
            ("где ключ от велосипеда", "ключ велосипеда"),
            ("the Who", ""),
            ("die hard", "die hard"),
            ("東京 天気", "東京 天気"),
        ] {
            assert_eq!(left(query, English).join(" "), expected, "{query}");
            assert_eq!(left(query, None).join(" "), expected, "{query}");
        }
        assert_eq!(left("die Kelle", German), ["kelle"]);
    }

    #[test]
    fn every_stemmer_has_its_words() {
        for language in [Arabic, Danish, Dutch, Finnish, Greek, Hungarian, Norwegian, Romanian, Swedish, Tamil, Turkish]
        {
            let own = LISTS.iter().find(|(of, _)| *of == language).expect("a list").1;
            let first: Vec<&str> = own.split_whitespace().take(3).collect();
            assert_eq!(left(&first.join(" "), language), Vec::<String>::new(), "{language:?}");
        }
    }
}

#[cfg(test)]
mod tests_of_common_words {
    use super::*;

    #[test]
    fn common_words_are_known_by_language_and_in_any_form() {
        let english = CommonWords::of(StemmerLanguage::English);
        assert_eq!([english.share("the"), english.share("was"), english.share("paper")], [0.5, 0.5, 0.0]);
        let stem = Stemming::new(StemmerLanguage::English).stem("being").to_owned();
        assert!(english.stem_share(&stem) > 0.0);
        assert!(CommonWords::of(StemmerLanguage::German).share("fur") == 0.5, "folded as it is in texts");
        assert_eq!(CommonWords::of(StemmerLanguage::None).share("the"), 0.0);
        let shares = |common: &CommonWords| common.words.len();
        assert!(shares(CommonWords::of(StemmerLanguage::Russian)) > 50 && shares(english) > 100);
    }
}
