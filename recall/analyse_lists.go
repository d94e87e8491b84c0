package recall

// The lists are English, by hand, and short: rarity does most of the work, and in
// another language they do no harm.

// stopWords are not looked for, unless a text has nothing else.
const stopWords = `
a an the and or but if of at by for with about to from in on into onto as is are was were be been being am do
does did doing done have has had having i me my mine we us our you your he him his she her hers it its they
them their this that these those there here what which who whom whose when where why how can could would
should will shall may might must not no nor so than then too very just also any some both each ft im youre
dont doesnt didnt isnt wasnt arent else myself yourself himself herself itself ourselves yourselves themselves
`

// lightWords say how a question is put or a thing is told, rather than what it is
// about. In a small collection some of them are rare by chance.
const lightWords = `
go get make take say tell talk think know see come want look use find give call try ask need feel become leave
put mean keep let begin seem turn start show happen like mention describe explain discuss express refer good
new first last long great little own other old big many much more most few several such same different able
recent recently current currently often usually always ever never still now today really actually likely
probably possibly maybe perhaps exactly specific particular certain thing things kind type sort way lot bit
time times one two something anything someone anyone everything nothing while during after before since until
again around through over under out up down off back away together between because about without within along
us lets got well even yet already once soon later ago ways reason part name names share shared decide believe
regarding regard concerning involve involving according receive plan
`

// phaticWords are what people say to be kind. Two texts that share them have
// nothing in common.
const phaticWords = `
ok okay yes yeah yep no nope please thanks thank hi hello hey bye goodbye sorry wow lol haha sure fine great
good nice cool awesome amazing congrats congratulations everyone everybody guys folks later soon worry worries
morning night evening afternoon day today tomorrow yesterday weekend week time welcome hope wish luck happy
glad sound sounds helpful right true exactly absolutely definitely totally agree love
`

// irregularForms has, in each line, a word and the forms of it that a stemmer for
// regular endings does not bring together with it.
const irregularForms = `
arise arose arisen
die dying
lie lying
tie tying
awake awoke awoken
beat beaten
become became
begin began begun
bend bent
bet betted
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
do did done does
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone goes
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
learn learnt
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
spin spun
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
write wrote written
child children
man men
woman women
foot feet
tooth teeth
mouse mice
person people
life lives
wife wives
knife knives
leaf leaves
good better best
bad worse worst
`
