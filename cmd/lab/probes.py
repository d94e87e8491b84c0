"""Makes probes: what people type to find a line of a life, for LETHE_PROBES of compactor/recall.TestProbes.

    python3 probes.py PACKAGES LOCOMO OUT.json

Nothing is made up by hand. Inflected words and compounds are those of manual pages, by dictionaries; the rest are words of
conversations of LoCoMo, in the directory LOCOMO. PACKAGES is a directory in which these Debian packages are unpacked
(dpkg-deb -x): hunspell, libhunspell-1.7-0, hunspell-pl, hunspell-tr, hunspell-de-de, libvoikko1, python3-libvoikko, voikko-fi,
libhfstospell11, libarchive13, libtinyxml2-9, manpages-de, manpages-fi, manpages-pl, manpages-tr. LD_LIBRARY_PATH names its
libraries. Each second probe of a kind is unseen: look at the others alone while you change something.
"""
import datetime, glob, gzip, json, os, random, re, string, subprocess, sys

packages, locomo, made = sys.argv[1:4]
random.seed(58)
def hun(dic,words):
    p=subprocess.run([packages+'/usr/bin/hunspell','-d',packages+'/usr/share/hunspell/'+dic,'-i','utf-8','-s'],
        input='\n'.join(words),capture_output=True,text=True)
    stems={}
    for line in p.stdout.split('\n'):
        f=line.split()
        if len(f)==2: stems.setdefault(f[0],set()).add(f[1].lower())
    return stems
sys.path.insert(0,packages+'/usr/lib/python3/dist-packages')
import libvoikko
libvoikko.Voikko.setLibrarySearchPath(packages+'/usr/lib/x86_64-linux-gnu')
def voik(words):
    v=libvoikko.Voikko('fi',path=packages+'/usr/lib/voikko')
    out={}
    for w in words:
        s={a.get('BASEFORM','').lower() for a in v.analyze(w)}
        s.discard('')
        if s: out[w]=s
    return out
def sentences(lang):
    out=set()
    for f in sorted(glob.glob(f'{packages}/usr/share/man/{lang}/man*/*.gz')):
        try: t=gzip.open(f,'rt',encoding='utf-8',errors='replace').read()
        except Exception: continue
        para=[]
        body=[]
        for l in t.split('\n'):
            if l.startswith(('.','\'')):
                body.append(' '.join(para)); para=[]
            else: para.append(l)
        body.append(' '.join(para))
        for b in body:
            b=re.sub(r'\\f(\[[A-Z]*\]|.)','',b); b=b.replace('\\-','-').replace('\\&','').replace('\\(aq',"'")
            b=re.sub(r'\\[\[(].*?[\])]?','',b)
            for s in re.split(r'(?<=[.!?])\s+',b):
                s=s.strip()
                letters=sum(c.isalpha() or c==' ' for c in s)
                if 50<=len(s)<=200 and '\\' not in s and letters>0.9*len(s): out.add(s)
    out=sorted(out); random.shuffle(out); return out
word=re.compile(r"[^\W\d_]+")
lives,probes,late={},[],[]
def add(kind,life,asked,want,**k):
    probes.append(dict(kind=kind,life=life,asked=asked,want=want,**k))
for lang,stemmer,name in (('tr',lambda w:hun('tr_TR',w),'Turkish'),('fi',voik,'Finnish'),('pl',lambda w:hun('pl_PL',w),'Polish')):
    all_=sentences(lang)
    life=all_[:600]; rest=all_[600:6000]
    inlife={}
    for i,s in enumerate(life):
        for w in sorted(set(word.findall(s.lower()))): inlife.setdefault(w,set()).add(i)
    restwords=sorted({w for s in rest for w in word.findall(s.lower()) if w not in inlife and len(w)>=4})
    stems=stemmer(sorted(set(inlife)|set(restwords)))
    of={}
    for w,ii in inlife.items():
        for st in stems.get(w,()): of.setdefault(st,set()).update(ii)
    cands=[]
    for w in restwords:
        ss=stems.get(w,())
        if len(ss)!=1: continue
        st=next(iter(ss))
        if st in of and len(of[st])<=2 and len(st)>=3: cands.append((w,sorted(of[st])))
    cands.sort(); random.shuffle(cands)
    print(lang,len(all_),len(life),len(cands))
    lives[name]=[{'text':s} for s in life]
    for w,want in cands[:120]: add('inflected '+name,name,w,want)
# German compounds
all_=sentences('de')
life=all_[:600]; lives['German']=[{'text':s} for s in life]
dic={l.split('/')[0].strip().lower() for l in open(packages+'/usr/share/hunspell/de_DE.dic',encoding='latin-1')}
inlife={}
for i,s in enumerate(life):
    for w in sorted(set(word.findall(s.lower()))): inlife.setdefault(w,set()).add(i)
c1=[]; c2=[]
for w,ii in inlife.items():
    if len(ii)>2 or len(w)<9: continue
    for at in range(4,len(w)-3):
        a,b=w[:at],w[at:]
        for a2 in ([a] + ([a[:-1]] if a.endswith('s') else []) + ([a[:-1],a[:-2]] if a.endswith('en') else [])):
            if len(a2)>=4 and len(b)>=4 and a2 in dic and b in dic and a2 not in inlife and b not in inlife:
                c1.append((f'{b.capitalize()} {a2.capitalize()}',sorted(ii))); break
print('compounds',len(c1))
c1.sort(); random.shuffle(c1)
seen=set()
for q,w in c1:
    if q in seen: continue
    seen.add(q)
    if len(seen)<=120: add('German compounds, parts asked','German',q,w)
# the other way round: compound asked whose parts stand in the life
rest=all_[600:12000]
n=0
rw=sorted({w for s in rest for w in word.findall(s.lower()) if w not in inlife and len(w)>=9}); random.shuffle(rw)
for w in rw:
    for at in range(4,len(w)-3):
        a,b=w[:at],w[at:]
        for a2 in ([a] + ([a[:-1]] if a.endswith('s') else [])):
            if a2 in dic and b in dic and (a2 in inlife)!=(b in inlife):
                part=a2 if a2 in inlife else b
                if len(inlife[part])==1 and n<120:
                    n+=1; add('German compounds, one part in the life','German',w,sorted(inlife[part])); break
        else: continue
        break
# English from LoCoMo
lets=string.ascii_lowercase
for name in ('26','30','41'):
    d=json.load(open(f'{locomo}/{name}.json'))
    d=d.get('conversation',d)
    life=[]
    k=1
    while f'session_{k}' in d:
        at=datetime.datetime.strptime(d[f'session_{k}_date_time'].replace(' on ',' '),'%I:%M %p %d %B, %Y')
        for j,t in enumerate(d[f'session_{k}']):
            life.append(dict(text=t['text'].replace('\n',' '),who=t['speaker'],at=(at+datetime.timedelta(seconds=30*j)).isoformat()+'Z',s=k))
        k+=1
    ln='talk '+name
    lives[ln]=life
    inl={}
    for i,l in enumerate(life):
        for w in sorted(set(re.findall(r"[a-z]+",l['text'].lower()))): inl.setdefault(w,set()).add(i)
    rare=[w for w,ii in inl.items() if len(ii)==1 and len(w)>=6]; rare.sort(); random.shuffle(rare)
    def typo(w):
        i=random.randrange(1,len(w)-1); r=random.random()
        if r<.25: return w[:i]+w[i+1:]
        if r<.5: return w[:i]+random.choice(lets)+w[i:]
        if r<.75: return w[:i]+random.choice(lets)+w[i+1:]
        return w[:i]+w[i+1]+w[i]+w[i+2:]
    for w in rare[:60]:
        t=typo(w)
        if t not in inl: add('typos, one',ln,t,sorted(inl[w]))
    for w in [w for w in rare[60:] if len(w)>=8][:50]:
        t=typo(typo(w))
        if t not in inl: add('typos, two in 8 letters',ln,t,sorted(inl[w]))
    for w in [w for w in reversed(rare) if len(w)>=8][:50]:
        n=random.choice((4,5))
        t=w[:n]
        if t not in inl and sum(o.startswith(t) for o in inl)<=3: add('abbreviations',ln,t,sorted(inl[w]))
    lines=list(range(len(life))); random.shuffle(lines)
    n=0
    for i in lines:
        ws=re.findall(r"[a-z]+",life[i]['text'].lower())
        for a,b in zip(ws,ws[1:]):
            if len(a)>=4 and len(b)>=4 and len(inl[a])<=3 and len(inl[b])<=3 and a+b not in inl and n<40:
                n+=1; add('two words asked as one',ln,a+b,[i]); break
    # days as said
    start={}
    for i,l in enumerate(life): start.setdefault(l['s'],i)
    names={2:'two',3:'three',4:'four',5:'five',6:'six',7:'seven',8:'eight',9:'nine',10:'ten'}
    common={w for w,ii in inl.items() if 6<=len(ii)<=60 and len(w)>=4}
    for s in sorted(start):
        day=datetime.datetime.fromisoformat(life[start[s]]['at'][:-1])
        for k in (1,2,3,4,5,6,7,9,14):
            now=(day+datetime.timedelta(days=k)).replace(hour=20,minute=0)
            # the last session before now
            last=max(t for t in start if datetime.datetime.fromisoformat(life[start[t]]['at'][:-1])<now)
            ph=[f'{names[k]} days ago' if k in names else None]
            if k==1: ph=['yesterday']
            if k==7: ph=['a week ago','last '+day.strftime('%A')]
            if k==14: ph=['two weeks ago']
            if k in (2,3,4,5,6): ph.append('last '+day.strftime('%A'))
            p=random.choice(ph)
            mine=[i for i,l in enumerate(life) if l['s']==s]
            i=random.choice(mine)
            ws=[w for w in re.findall(r'[a-z]+',life[i]['text'].lower()) if w in common]
            after=sum(1 for l in life if l['s']<=last)
            if ws:
                add('days as said, with a word' if k>1 else 'yesterday, with a word',ln,f"{p} {life[i]['who']} said something about {random.choice(ws)}, what was it?",[i],now=now.isoformat()+'Z',after=after)
            add('days as said, alone' if k>1 else 'yesterday, alone',ln,f"what did we talk about {p}?",mine,now=now.isoformat()+'Z',after=after)
    for i,l in enumerate(life): # lines that say yesterday or last week
        m=re.search(r'\b(yesterday|last week|last month)\b',l['text'].lower())
        if m:
            ws=[w for w in re.findall(r'[a-z]+',l['text'].lower()) if len(inl[w])<=8 and len(w)>=5 and w not in ('yesterday',)]
            if ws:
                now=datetime.datetime.fromisoformat(l['at'][:-1])+datetime.timedelta(days=random.choice((20,40)))
                add('"yesterday" as a word',ln,f"{l['who']} told me about {random.choice(ws)} {m.group(1)}",[i],now=now.isoformat()+'Z',after=len(life))
    rnd=random.Random(name)
    for i,l in enumerate(life):
        m=re.search(r'\b((\d{1,3}|a|two|three|four|five|six|seven|eight|nine|ten) (day|week)s? ago|last ((sun|mon|tues|wednes|thurs|fri|satur)day)|this morning)\b',l['text'].lower())
        if m:
            ws=[w for w in re.findall(r'[a-z]+',l['text'].lower()) if len(inl[w])<=8 and len(w)>=5 and w not in m.group(1)]
            for _ in range(2):
              if ws:
                now=datetime.datetime.fromisoformat(l['at'][:-1])+datetime.timedelta(days=rnd.choice((20,40)))
                late.append(dict(kind='"three days ago" as words',life=ln,asked=f"{l['who']} told me about {rnd.choice(ws)} {m.group(1)}",want=[i],now=now.isoformat()+'Z',after=len(life)))
# hashes and paths
hl=[]
for i in range(400):
    h=''.join(random.choice('0123456789abcdef') for _ in range(40))
    hl.append(f'{random.choice(life)["text"][:80]} (commit {h})')
    if i<120: add('hash prefixes','hashes',h[:random.choice((6,7,8,10))],[i])
lives['hashes']=[{'text':t} for t in hl]
random.shuffle(probes)
probes+=late
for i,p in enumerate(probes): p['half']='tuned' if i%2 else 'unseen'
kinds={}
for p in probes: kinds[p['kind']]=kinds.get(p['kind'],0)+1
print(kinds)
json.dump(dict(lives=lives,probes=probes),open(made,'w'),ensure_ascii=False)
