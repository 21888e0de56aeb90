"""Questions about words, by kind: the past tense of a verb, a plural, an opposite, a capital, and what a word names.

No word is asked for in two kinds. The place of a question in its list says whether it is held out
(`assay.tasks.words`), so lists grow at their ends alone. Only questions whose answers are beyond dispute are here: no
verb whose past is the verb itself, no plural that is the singular, no country that argues about its capital.
"""

from __future__ import annotations

from collections.abc import Mapping

Questions = Mapping[str, tuple[str, ...]]
"""The text in question -> the answers that are accepted, each right by itself: `{"learn": ("learned", "learnt")}`."""


def _questions(text: str) -> Questions:
    """`_questions("go=went, learn=learned|learnt")["learn"]  # ("learned", "learnt")`"""
    found: dict[str, tuple[str, ...]] = {}
    for entry in text.split(","):
        asked, _, answers = " ".join(entry.split()).partition("=")
        if asked in found:
            raise ValueError(f"'{asked}' is asked for twice")
        found[asked] = tuple(answers.split("|"))
    return found


PAST = _questions(
    """
    go=went, see=saw, eat=ate, walk=walked, drink=drank, come=came, give=gave, take=took, make=made, write=wrote,
    play=played, drive=drove, ride=rode, speak=spoke, break=broke, stop=stopped, choose=chose, freeze=froze,
    steal=stole, wear=wore, tear=tore, carry=carried, swear=swore, know=knew, grow=grew, throw=threw, fly=flew,
    draw=drew, study=studied, blow=blew, sing=sang, ring=rang, swim=swam, plan=planned, sink=sank|sunk,
    shrink=shrank|shrunk, run=ran, become=became, dance=danced, forget=forgot, forgive=forgave, get=got, hide=hid,
    bite=bit, jump=jumped, hold=held, tell=told, stand=stood, understand=understood, find=found, cook=cooked,
    fight=fought, catch=caught, teach=taught, bring=brought, think=thought, visit=visited, seek=sought, buy=bought,
    sell=sold, sleep=slept, keep=kept, sweep=swept, weep=wept, feel=felt, help=helped, leave=left, meet=met, feed=fed,
    lead=led, send=sent, smile=smiled, spend=spent, lend=lent, build=built, bend=bent, hope=hoped, hear=heard,
    say=said, pay=paid, lay=laid, sit=sat, marry=married, shake=shook, fall=fell, dig=dug, stick=stuck, drop=dropped,
    swing=swung, strike=struck, shoot=shot, slide=slid, learn=learned|learnt, dream=dreamed|dreamt, burn=burned|burnt,
    swell=swelled
    """
)
PLURAL = _questions(
    """
    child=children, city=cities, box=boxes, foot=feet, leaf=leaves, book=books, hero=heroes, tooth=teeth, baby=babies,
    class=classes, wolf=wolves, goose=geese, idea=ideas, crisis=crises, mouse=mice, story=stories, dish=dishes,
    half=halves, potato=potatoes, ox=oxen, watch=watches, key=keys, man=men, country=countries, fox=foxes,
    shelf=shelves, cactus=cacti|cactuses, woman=women, berry=berries, glass=glasses, thief=thieves, tomato=tomatoes,
    photo=photos, person=people|persons, party=parties, brush=brushes, calf=calves, analysis=analyses, echo=echoes,
    wife=wives, family=families, bus=buses|busses, loaf=loaves, basis=bases, toy=toys, knife=knives, puppy=puppies,
    church=churches, elf=elves, phenomenon=phenomena, radio=radios, louse=lice, army=armies, bench=benches,
    criterion=criteria, boy=boys, policeman=policemen, fairy=fairies, match=matches, thesis=theses, window=windows,
    lady=ladies, wish=wishes, bacterium=bacteria, monkey=monkeys, snowman=snowmen, dress=dresses,
    sandwich=sandwiches, oasis=oases, house=houses, grandchild=grandchildren, inch=inches, fungus=fungi|funguses,
    teacher=teachers, witch=witches, kiss=kisses, quiz=quizzes, belief=beliefs, factory=factories,
    scarf=scarves|scarfs, tax=taxes, stimulus=stimuli, roof=roofs|rooves, diary=diaries, volcano=volcanoes|volcanos,
    mosquito=mosquitoes|mosquitos, chief=chiefs, penny=pennies|pence
    """
)
OPPOSITE = _questions(
    """
    hot=cold|cool, cold=hot|warm, big=small|little|tiny, small=big|large|huge, old=young|new, young=old,
    fast=slow, slow=fast|quick, tall=short, short=tall|long, happy=sad|unhappy, sad=happy|glad|joyful,
    good=bad|evil, bad=good, rich=poor, poor=rich|wealthy, strong=weak, weak=strong, soft=hard, hard=soft|easy,
    simple=complex|complicated|difficult, complex=simple|easy, light=dark|heavy, dark=light|bright, wet=dry, dry=wet,
    full=empty, empty=full, open=closed|shut|close, closed=open, clean=dirty|unclean, dirty=clean, early=late,
    late=early, near=far|distant, far=near|close, deep=shallow, shallow=deep, wide=narrow, narrow=wide|broad,
    thick=thin, thin=thick|fat, loud=quiet|silent|soft, quiet=loud|noisy, sharp=dull|blunt, dull=sharp|bright|shiny,
    smooth=rough, rough=smooth|gentle, true=false|untrue, false=true, right=wrong|left, wrong=right|correct,
    always=never, never=always, up=down, down=up, inside=outside, outside=inside,
    above=below|beneath|under|underneath, below=above|over, before=after, after=before, day=night, night=day,
    summer=winter, winter=summer, north=south, south=north, east=west, west=east, war=peace, peace=war,
    love=hate|hatred, hate=love, life=death, death=life|birth, friend=enemy|foe, enemy=friend|ally,
    begin=end|finish|stop, end=begin|start|beginning, push=pull, pull=push, arrive=depart|leave, depart=arrive,
    accept=reject|refuse|decline|deny, reject=accept|approve, laugh=cry|weep, cry=laugh|smile, import=export,
    export=import, maximum=minimum, minimum=maximum, victory=defeat|loss, defeat=victory|win|triumph,
    success=failure|fail, failure=success, increase=decrease|reduce|reduction, decrease=increase|rise,
    brave=cowardly|afraid|fearful|timid, cowardly=brave|courageous|bold, guilty=innocent, innocent=guilty, major=minor,
    minor=major, public=private, private=public, male=female, female=male, black=white, white=black, first=last,
    last=first, many=few, few=many, ancient=modern|new|contemporary, modern=ancient|old|traditional,
    cheap=expensive|costly, expensive=cheap|inexpensive|affordable, safe=dangerous|unsafe|risky,
    dangerous=safe|harmless, tight=loose, loose=tight, alive=dead, dead=alive|living, asleep=awake, awake=asleep,
    absent=present, present=absent, polite=rude|impolite, rude=polite|courteous, beautiful=ugly,
    ugly=beautiful|pretty|attractive|handsome
    """
)
"""In pairs: a question, then the one about its answer. Both are in one split."""
CAPITAL = _questions(
    """
    France=Paris, Germany=Berlin, Italy=Rome, Spain=Madrid, Portugal=Lisbon, Greece=Athens, Austria=Vienna,
    Belgium=Brussels, Denmark=Copenhagen, Kenya=Nairobi, Japan=Tokyo, Cuba=Havana, Sweden=Stockholm, Norway=Oslo,
    Egypt=Cairo, Peru=Lima, Finland=Helsinki, Poland=Warsaw, Morocco=Rabat, Vietnam=Hanoi, Hungary=Budapest,
    Romania=Bucharest, Ghana=Accra, Canada=Ottawa, Bulgaria=Sofia, Ukraine=Kyiv|Kiev, Nigeria=Abuja, Iran=Tehran,
    Russia=Moscow, Ireland=Dublin, India=New Delhi|Delhi, Chile=Santiago, Switzerland=Bern, Turkey=Ankara,
    Algeria=Algiers, China=Beijing, Libya=Tripoli, Sudan=Khartoum, Australia=Canberra, Jamaica=Kingston,
    Ethiopia=Addis Ababa, Uganda=Kampala, Iraq=Baghdad, Thailand=Bangkok, Rwanda=Kigali, Senegal=Dakar,
    Argentina=Buenos Aires, Serbia=Belgrade, Mali=Bamako, Angola=Luanda, Pakistan=Islamabad, Ecuador=Quito,
    Zambia=Lusaka, Zimbabwe=Harare, Croatia=Zagreb, Lebanon=Beirut, Namibia=Windhoek, Somalia=Mogadishu,
    Bangladesh=Dhaka, Uruguay=Montevideo, Nepal=Kathmandu, Syria=Damascus, Estonia=Tallinn, Latvia=Riga,
    Jordan=Amman, Qatar=Doha, Venezuela=Caracas, Iceland=Reykjavik, Cambodia=Phnom Penh, Laos=Vientiane,
    Lithuania=Vilnius, South Korea=Seoul, Mongolia=Ulaanbaatar|Ulan Bator, New Zealand=Wellington, Honduras=Tegucigalpa,
    Afghanistan=Kabul, Nicaragua=Managua, Slovenia=Ljubljana, North Korea=Pyongyang, Georgia=Tbilisi,
    Slovakia=Bratislava, Albania=Tirana, Saudi Arabia=Riyadh, Armenia=Yerevan, Azerbaijan=Baku, Oman=Muscat,
    Malaysia=Kuala Lumpur, Madagascar=Antananarivo, Haiti=Port au Prince, Brazil=Brasilia, Colombia=Bogota,
    Paraguay=Asuncion
    """
)
_NAMED = """
    animal|animals|mammal|mammals: cow horse dog cat lion tiger rabbit elephant
    bird|birds: eagle sparrow owl parrot penguin robin crow pigeon
    fish|fishes: salmon trout tuna cod shark herring carp sardine
    insect|insects|bug|bugs: ant bee butterfly beetle wasp grasshopper moth termite
    reptile|reptiles: snake lizard crocodile alligator gecko iguana cobra tortoise
    fruit|fruits: apple banana pear grape peach mango strawberry pineapple
    vegetable|vegetables: carrot onion cabbage broccoli spinach lettuce cauliflower celery
    tree|trees: oak pine maple birch willow spruce cedar elm
    flower|flowers: tulip daisy lily orchid sunflower daffodil carnation dandelion
    tool|tools: hammer screwdriver wrench pliers chisel shovel axe drill
    vehicle|vehicles: car truck bicycle motorcycle tractor van tram ambulance
    furniture: chair table sofa bed desk wardrobe bookcase couch
    clothing|clothes|garment|garments: shirt jacket trousers skirt sweater coat jeans blouse
    instrument|instruments: guitar piano violin trumpet flute cello clarinet harp
    drink|drinks|beverage|beverages: tea coffee milk juice beer wine lemonade cola
    color|colors|colour|colours: red blue green yellow purple pink brown gray
    metal|metals: iron copper silver gold tin zinc aluminum nickel
    sport|sports: soccer tennis basketball hockey baseball rugby volleyball badminton
    language|languages: French Spanish Latin Arabic Hindi Swedish Portuguese Finnish
    body: nose elbow knee shoulder ankle wrist chin thumb
    profession|professions|job|occupation: doctor nurse lawyer plumber carpenter baker engineer accountant
    shape|shapes: circle triangle square rectangle hexagon oval pentagon trapezoid
    country|countries|nation|nations: Bolivia Netherlands Tanzania Guatemala Kuwait Panama Tunisia Myanmar
    month|months: January February March April June July August October
    gas|gases: oxygen hydrogen nitrogen helium neon argon methane ozone
    gem|gems|gemstone|gemstones: diamond ruby emerald sapphire topaz opal amethyst garnet
    building|buildings: castle hospital barn cottage palace mosque skyscraper cathedral
    weapon|weapons: sword rifle pistol spear cannon dagger bow grenade
    emotion|emotions|feeling|feelings: anger joy fear sadness jealousy disgust envy surprise
"""
_ROWS = [line.strip().partition(": ") for line in _NAMED.strip().splitlines()]
NAMES: Mapping[str, str] = {name: row[0].split("|")[0] for row in _ROWS for name in row[0].split("|")}
"""Each word for a kind of things -> the first of its kind: `NAMES["mammals"]  # "animal"`."""
KIND: Questions = {word: (row[0].split("|")[0],) for row in _ROWS for word in row[2].split()}
"""Eight words of each of 29 kinds, so that one kind is right for one question of 29, in every split."""
