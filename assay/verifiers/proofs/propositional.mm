$( Propositional calculus. m is modus ponens; 1 to 3 are axioms of Lukasiewicz for implication and negation; 4 to 9
   say what conjunction (&) and disjunction (v) are. All other rules are proved. $)
$c ( ) > ~ & v wff |- $.
$v p q r s t $.
wp $f wff p $.  wq $f wff q $.  wr $f wff r $.  ws $f wff s $.  wt $f wff t $.
wi $a wff ( p > q ) $.  wn $a wff ~ p $.  wa $a wff ( p & q ) $.  wo $a wff ( p v q ) $.
1 $a |- ( p > ( q > p ) ) $.
2 $a |- ( ( p > ( q > r ) ) > ( ( p > q ) > ( p > r ) ) ) $.
3 $a |- ( ( ~ p > ~ q ) > ( q > p ) ) $.
4 $a |- ( ( p & q ) > p ) $.
5 $a |- ( ( p & q ) > q ) $.
6 $a |- ( p > ( q > ( p & q ) ) ) $.
7 $a |- ( p > ( p v q ) ) $.
8 $a |- ( q > ( p v q ) ) $.
9 $a |- ( ( p > r ) > ( ( q > r ) > ( ( p v q ) > r ) ) ) $.
${ m.1 $e |- p $.  m.2 $e |- ( p > q ) $.  m $a |- q $. $}
${ i.1 $e |- p $.
   i $p |- ( q > p ) $=
     wp wq wp wi i.1 wp wq 1 m $. $}
${ d.1 $e |- ( p > ( q > r ) ) $.  d.2 $e |- ( p > q ) $.
   d $p |- ( p > r ) $=
     wp wq wi wp wr wi d.2 wp wq wr wi wi wp wq wi wp wr wi wi d.1 wp wq wr 2 m m $. $}
${ c.1 $e |- ( p > q ) $.  c.2 $e |- ( q > r ) $.
   c $p |- ( p > r ) $=
     wp wq wr wq wr wi wp c.2 i c.1 d $. $}
j $p |- ( p > p ) $=
     wp wp wp wi wp wp wp wp wi 1 wp wp 1 d $.
w $p |- ( ~ ~ p > p ) $=
     wp wn wn wp wn wn wp wp wn wn wp wn wp wn wn wn wi wp wn wn wp wi wp wn wn wp wn wn wn wn wp wn wn wi wp
     wn wp wn wn wn wi wp wn wn wp wn wn wn wn 1 wp wn wn wn wp wn 3 c wp wp wn wn 3 c wp wn wn j d $.
k $p |- ( p > ~ ~ p ) $=
     wp wn wn wn wp wn wi wp wp wn wn wi wp wn w wp wn wn wp 3 m $.
${ e.1 $e |- ~ ~ p $.
   e $p |- p $=
     wp wn wn wp e.1 wp w m $. $}
${ b.1 $e |- p $.
   b $p |- ~ ~ p $=
     wp wp wn wn b.1 wp k m $. $}
${ n.1 $e |- ( p > q ) $.
   n $p |- ( ~ q > ~ p ) $=
     wp wn wn wq wn wn wi wq wn wp wn wi wp wn wn wq wq wn wn wp wn wn wp wq wp w n.1 c wq k c wp wn wq wn 3 m $. $}
${ h.1 $e |- ~ q $.  h.2 $e |- ( p > q ) $.
   h $p |- ~ p $=
     wq wn wp wn h.1 wp wq h.2 n m $. $}
${ a.1 $e |- p $.  a.2 $e |- q $.
   a $p |- ( p & q ) $=
     wq wp wq wa a.2 wp wq wp wq wa wi a.1 wp wq 6 m m $. $}
${ f.1 $e |- ( p & q ) $.
   f $p |- p $=
     wp wq wa wp f.1 wp wq 4 m $. $}
${ g.1 $e |- ( p & q ) $.
   g $p |- q $=
     wp wq wa wq g.1 wp wq 5 m $. $}
${ x.1 $e |- p $.
   x $p |- ( p v q ) $=
     wp wp wq wo x.1 wp wq 7 m $. $}
${ y.1 $e |- q $.
   y $p |- ( p v q ) $=
     wq wp wq wo y.1 wp wq 8 m $. $}
${ o.1 $e |- ( p > r ) $.  o.2 $e |- ( q > r ) $.
   o $p |- ( ( p v q ) > r ) $=
     wq wr wi wp wq wo wr wi o.2 wp wr wi wq wr wi wp wq wo wr wi wi o.1 wp wq wr 9 m m $. $}
