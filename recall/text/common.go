package text

import (
	"math"
	"strings"
	"sync"
)

// Commonness returns the most that a stem weighs as evidence of what a text is about,
// whatever its rarity among a few originals says: +Inf for all but the commonest words
// of spoken English.
func Commonness(stem string) float64 {
	if most, ok := common()[stem]; ok {
		return most
	}
	return math.Inf(1)
}

var common = sync.OnceValue(func() map[string]float64 {
	m := map[string]float64{}
	for _, tier := range commonWords {
		for word := range strings.FieldsSeq(tier.words) {
			m[stem(word)] = tier.most
		}
	}
	return m
})

// commonWords are the words with the commonest stems in the subtitles of films (SUBTLEX-US,
// Brysbaert and New 2009), without names, stop words and curses: those that are more than
// one word in 1000, in 2500, in 8000, and in 16,000. What they weigh is the logarithm of how rare
// texts of 1000 words without them are.
var commonWords = []struct {
	most  float64
	words string
}{
	{0.3, `
get go know don all like right think out good up want see say now one look take tell make man time back thing give
mean need something really down talk way people little love call guy never over more find work coming leave off
sorry please try sure day only wait because two help feel hear even come let no oh well yeah okay yes hey thanks
maybe
`},
	{0.8, `
much happened life put anything night keep nothing years ask first other great stop before again still home used kid
name girl boy friend around last away bad new ever meet believe big after care long place nice always everything
minute start money move kind woman lot stay run show old fine play bring remember live father hold understand
through every baby three house hand car wrong die another mind turn enough lost mother course own head guess room
watch world dead break next someone sit real morning job today business son forget drink same open tonight worry
matter problem hope idea pay change pretty hello hi listen ok miss mom dad god excuse
`},
	{1.7, `
ready whole together supposed eat hours most family week check wonderful send wife walk married seems many hard
happy word cause lady second without stand while school once somebody everybody end office yet actually speak
tomorrow beautiful eyes face children question brother sleep door sounds already hit late buy close since read fight
case pick alone stuff deal write fire different hurt until few quite doctor part later such bit phone lie ago five
point probably drive number game save hate crazy plan chance fall exactly wish set heart order easy story cut under
months soon party four line anyone book town true catch afraid anyway whatever dog reason young trouble everyone
hang wear dream interesting police water fun answer promise light clear couple figure pull body anybody throw death
important far rest power funny dance side high serious sometimes inside become follow moment sister least dinner
perfect picture drop yours date trust certainly husband murder building against touch sign learn fact six half ahead
pass cool bed finish spend almost truth stick possible bet hot sell report anymore behind stupid blood feet ride
missed act war scared expect along either though front beat daughter kiss street beginning welcome blow city free
glad white between finally sick country black outside steal fly movie full till quick music news step team surprise
clean sing able dress piece hair company sort food train paper alive safe record parents luck grow special human
decided laugh control hide sweet red arm lead cover wake ring ball ten coffee completely lucky million teach top
sense charge air explain cry secret king key fast handle return hospital tired apartment horse card law class test
count cold quiet fix poor ship boss kick star cannot protect fool rules small mad present absolutely breathe land
mistake security burn past offer totally force smell bag straight carry road enjoy letter lock except position
attack information honor dangerous pain clothes terrible table 3 nobody bye wow perhaps goodbye hmm uncle christmas
`},
	{2.4, `
near song buddy realize rather unless rock park imagine plane box blue leg nature joke join somewhere state less
none push jump message choice mouth window miles worth club wedding seat floor knock hotel system early mess boat
relax operation fish court swear dark dollars suit prison short agree notice allowed shoes brain seven fault lunch
bar fair bank smoke future responsible bother roll voice weird service hundred usually birthday judge entire
appreciate honest earth partner longer attention lawyer share eight trip drugs thousand yesterday smart excited tree
invited wall station reach master store consider choose across age treat glass prove strong patient practice manager
waste raise grab soul afternoon forgive paint strange owe ground track tough respect experience list obviously
mention situation destroy suddenly guard simple middle army study calm ticket forever direction involved anywhere
shop accident cute definitely weapon proud amazing normal smile screaming beer tape cat concerned visit belong
college evidence cross animal cook girlfriend machine tie file history fear area film pleasure ice rich awful born
gift folks scene group listening note suggest crime witness truck prepared continue field spot arrived public accept
marriage peace fill race contact art private pack relationship board fat instead slow gold upset summer bear favor
discuss apologize round boyfriend radio hungry deep sake fit during strike serve draw heaven camera tear third nose
client bus hat feed student hole type beg action warning evil search medical sad church green cash forward lay doubt
single chicken fellow press admit dig blame bird trick victim match memory upstairs cost jail decision remind
flowers freak finger computer sun deserve taste account appear comfortable settle weekend government block impressed
enemy gas neither nine especially nervous whether teacher wind escape travel shake soldier dirty suspect cell
breakfast double national space ruin guest base spirit ears connection engine eggs pardon nurse flight sea bottle
dare hired rain failed wash department support risk favorite grand disappeared pants upon neck hero bless twice
plenty guilty code level copy remain magic bathroom teeth camp innocent price beach pretend color wine create
difficult wound exist rid enter chase unit address extra within immediately low chair impossible gay angry bunch
duty form band clock tea committed
`},
}
