# shellcheck shell=bash
# What the LACP scenarios ask of xbond's bond0.
lacp() { console show lacp bond0 json | json "$1"; }
# Members whose frames both sides want: what we may send, and what the partner says it receives and sends.
in_use() {
  lacp "' '.join(m['name'][-1] for m in d[0]['members'] if m['distributing'] and m['collecting'] and
    {'synchronization', 'collecting', 'distributing'} <= set(m['partner']['state']))"
}
in_use_are() { [[ $(in_use) == "$1" ]]; }
# How often members came and went since the bond is there, as far as its history reaches
flaps() { lacp "sum(1 for m in d[0]['members'] for h in m['history'] if h['machine'] == 'mux')"; }

# listen_to_pdus: portN.pdus gets what the partner's ends hear
listen_to_pdus() {
  local port
  for port in 0 1; do
    exec_on peer "$tools/pdus.py" listen "end$port" "$work/port$port.pdus" &
    wait_for 10 "the capture" grep -qs listening "port$port.pdus"
  done
}
