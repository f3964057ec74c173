const slider=document.getElementById('time');
function stateOf(row,t){let s=0;for(let i=1;i<row.length;i++)if(row[i]!==null&&row[i]<=t*1000)s=i;return s}
function draw(kind){const t=+slider.value,canvas=kind.canvas,n=kind.rows.length,ratio=devicePixelRatio,width=canvas.clientWidth*ratio|0;
const cell=Math.max(2,Math.min(24*ratio|0,Math.floor(Math.sqrt(width*300*ratio/Math.max(n,1)))));
const columns=Math.max(1,Math.floor(width/cell));canvas.width=width;canvas.height=Math.max(cell,Math.ceil(n/columns)*cell);
const c=canvas.getContext('2d'),count=kind.states.map(()=>0),gap=cell>5?1:0;kind.cell=cell;kind.columns=columns;
kind.rows.forEach((row,i)=>{const s=stateOf(row,t);count[s]++;c.fillStyle=kind.states[s][1];c.fillRect(i%columns*cell,Math.floor(i/columns)*cell,cell-gap,cell-gap)});
kind.text.textContent=(kind.name=='pods'?'at '+t.toFixed(1)+' s: ':kind.name+': ')+kind.states.map((s,i)=>count[i]?count[i]+' '+s[0]:'').filter(x=>x).join(', ');}
function drawAll(){kinds.forEach(draw)}
kinds.forEach(kind=>{const box=document.getElementById(kind.name);kind.text=box.querySelector('.now');kind.canvas=box.querySelector('canvas');
const legend=box.querySelector('.legend'),tip=box.querySelector('.tip');
kind.states.forEach(s=>{const e=document.createElement('span'),i=document.createElement('i');i.style.background=s[1];e.append(i,s[0]);legend.append(e)});
kind.canvas.addEventListener('pointermove',e=>{const ratio=devicePixelRatio,i=Math.floor(e.offsetY*ratio/kind.cell)*kind.columns+Math.floor(e.offsetX*ratio/kind.cell);
const row=kind.rows[i];tip.textContent=row?row[0]+': '+kind.states[stateOf(row,+slider.value)][0]:'\u00a0'})});
slider.addEventListener('input',drawAll);addEventListener('resize',drawAll);
const wanted=/^#t=([0-9.]+)$/.exec(location.hash);if(wanted)slider.value=wanted[1];drawAll();
