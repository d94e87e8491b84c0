package recall

// sameWords has, in each line, words that people use for each other: everyday
// life, then software. They are variants in both directions, at a small weight, so
// a loose pair costs little. The words were chosen from the language, and reach
// only one step: what is said in altogether other words is not found.
const sameWords = `
mother mom mum mama mommy
father dad papa daddy
parent mom dad
child kid
baby infant newborn toddler
family fam relatives
grandmother grandma granny nana
grandfather grandpa granddad
spouse husband wife partner
brother sister sibling
son daughter child kid
marry wedding married
friend buddy pal mate
colleague coworker workmate teammate
boss manager
photo picture pic photograph image snapshot
movie film
favorite fave favourite
house home
apartment flat condo
car vehicle truck
bicycle bike
dog puppy pup
cat kitten
pet dog cat
animal pet
job work career occupation
job position role
company business firm
shop store boutique
buy purchase bought
money cash
cost price
expensive costly pricey
cheap inexpensive
gift present
trip travel journey vacation
vacation holiday getaway
hike trek trail
sea ocean beach
woods forest
mountain mountaineering peak
country nation
city town
road street
doctor physician
hospital clinic
sick ill illness
medicine medication drug
injury hurt injured
food meal dish
dinner supper
dessert cake pastry
drink beverage
restaurant diner cafe
cook bake
workout exercise gym fitness
soccer football
game match
win victory won
contest competition tournament
prize award trophy
music song
band group
instrument guitar piano violin
concert show gig performance
perform performance
book novel
author writer
read book
write writing
paint painting painter
draw drawing sketch
artwork art painting
class course lesson workshop
school college university
study studies
teacher instructor mentor
student pupil
degree diploma
education edu school
exam test
happy glad joyful pleased
sad upset unhappy
angry mad furious
afraid scared frightened fear
worried anxious nervous anxiety
stress stressed destress
calm peaceful relaxed relax
tired exhausted
excited thrilled
proud pride
beautiful gorgeous pretty lovely
big large huge
small little tiny
quick fast rapid
difficult hard tough challenging
challenge obstacle hurdle difficulty setback
easy simple
important crucial significant
begin start launch
end finish complete
stop quit
try attempt
help assist aid support
helpful useful
make create build craft
fix repair mend
talk speak chat discuss conversation
tell inform
ask request
meet encounter
visit visited
join enroll signup
attend attended
plan intend planning
goal aim objective ambition
dream aspiration
idea concept
reason why cause
result outcome
problem issue trouble
accident crash
choose pick select
decide decision
get receive obtain
give donate gift
love adore
enjoy enjoyment like
hate dislike
hobby pastime interest
activity activities
event festival celebration
party celebration
celebrate celebration
birthday bday
volunteer volunteering
charity fundraiser donation
community neighborhood local
church faith religion
religious faith spiritual
rule law
government political politics
military army veteran
vote election campaign
fire firefighter
move relocate
live reside
leave depart
arrive come
lose lost
find discover
look search
show display exhibit
exhibition exhibit show
clothes clothing outfit apparel fashion
shoes sneakers boots
jewelry necklace ring bracelet
garden yard
plant flower
tree trees
rain storm
weather climate
flood disaster hurricane
sunset sunrise
night evening
morning dawn
weekend saturday sunday
annual yearly
phone mobile cell smartphone
computer laptop pc
internet online web
website site page
app application software
tv television
video clip
bug defect issue
error err failure fault exception
fail failed failure
config configuration settings setting
directory dir folder
repository repo
function func method
argument arg parameter param
documentation docs doc readme
delete remove erase rm
update upgrade
install setup
deploy release rollout
version release
database db
test testing
password credential secret
timeout deadline
crash panic segfault
memory ram
directory path
server host
environment env
variable var
message msg
button click
log logs logging
`
