/** German: what the server says by itself, by its code. `{name}` stands for a value. */
export const noticesDe: Readonly<Record<string, string>> = {
  text: '{text}',
  server_full: 'Der Server nimmt keine neuen Zuschauer',
  node_full: 'Der Knoten {node} nimmt keine neuen Zuschauer',
  full_sessions: 'Alle Sitzungen für Zuschauer sind vergeben (sessions.max)',
  full_media: 'Seine Medienprozesse sind ausgelastet',
  full_egress: 'Er sendet so viel, wie server.maxEgressMegabits erlaubt',
  full_remedy: 'Wer schon zusieht, sieht weiter. Fügen Sie einen Knoten hinzu oder heben Sie die Grenze an',
  unlinked: 'Zuschauer am Knoten {to} werden zu {from} umgeleitet',
  link_media_port:
    'Dessen Medienports antworten nicht: Öffnen Sie UDP zwischen den Knoten (webrtc.port) oder berichtigen Sie dort ' +
    'webrtc.publicAddresses',
  link_no_answer: 'Er antwortet nicht über HTTP: Berichtigen Sie seine server.nodeUrl oder die Firewall',
  link_refused: 'Er weist die Anfrage ab: Geben Sie beiden denselben secrets.sealingKey und dieselbe Version',
  link_busy: 'Er bekommt zu viele Anfragen nach Streams auf einmal und wird in einigen Sekunden wieder gefragt',
  link_lends_nothing: 'Sein server.handover ist redirect: Setzen Sie es dort auf cascade, oder überall auf redirect',
  engine: 'Engine {name}:',
  engine_fails: 'Engine {name} scheitert:',
  media_process_hung: 'Ein WebRTC-Prozess hing, wurde beendet und ersetzt',
  media_process_died: 'Ein WebRTC-Prozess ist abgestürzt und wurde ersetzt',
  lost_session: 'Damit endete 1 Sitzung',
  lost_sessions: 'Damit endeten {sessions} Sitzungen',
  look_into_log: 'Geschieht es wieder, sehen Sie ins Log',
  disk_low_database:
    'Der Datenträger der Datenbank ist fast voll: {gigabytes} GB sind frei. Löschen Sie Aufnahmen oder vergrößern Sie ihn',
  disk_low_recordings:
    'Der Datenträger der Aufnahmen ist fast voll: {gigabytes} GB sind frei. Löschen Sie Aufnahmen oder vergrößern Sie ihn',
  certificate_expired: 'Das Zertifikat ist abgelaufen',
  certificate_expires: 'Das Zertifikat läuft in {days} Tagen ab',
  certificate_renew: 'Erneuern Sie es; was die Erneuerung verhindert, sagt `sluice doctor`',
  certificate_kept: 'Das Zertifikat wurde nicht ersetzt:',
  schema_newer:
    'Eine neuere Version von Sluice hat die Datenbank geändert ({migrations}). Aktualisieren Sie diesen Knoten',
  webhook_paused: 'Der Webhook zu {host} pausiert:',
  stream_stalled: 'Von {stream} kommen keine Medien an',
  stream_impaired: '{stream}:',
  finding: '{text}',
  more_findings: 'Und {count} weitere',
  stream_uneven:
    '{stream} kommt ungleichmäßig an, {lowest} bis {highest} Mbit/s in fünf Minuten. Stellen Sie den Encoder auf eine ' +
    'feste Bitrate',
  countries_of_account: 'Das Konto nennt Länder, aber es gibt keine Länderdatenbank',
  countries_of_token: '1 Token nennt Länder, aber es gibt keine Länderdatenbank',
  countries_of_tokens: '{tokens} Tokens nennen Länder, aber es gibt keine Länderdatenbank',
  countries_remedy: 'Keine Adresse besteht oder scheitert wegen ihres Landes. Setzen Sie geoip.database',
  publish_token_expires: 'Der Sende-Token {label} läuft am {date} ab',
  subscribe_token_expires: 'Der Zuschau-Token {label} läuft am {date} ab',
  engine_slow: 'Der Computer kommt mit dieser Engine nicht mit: Er kodiert {speed} Sekunden Medien pro Sekunde',
  engine_behind: 'Sie ist {seconds} s hinter ihrer Quelle',
  engine_dropped: 'Sie hat {frames} Bilder ausgelassen',
  engine_leaves_out:
    'Um mitzukommen, lässt diese Engine {renditions} aus, bis sie neu gestartet wird oder {minutes} Minuten lang Luft hatte',
  engine_halves_frames:
    'Um mitzukommen, lässt diese Engine jedes zweite Bild von {renditions} aus, bis sie neu gestartet wird oder ' +
    '{minutes} Minuten lang Luft hatte',
  engine_too_much:
    'Dieser Computer kommt mit dem, was gestartet wird, vielleicht nicht mit: Etwa {needed} Prozessoren werden gebraucht, ' +
    'und laufende Engines brauchen etwa {used} von {cores}',
  engine_needs_less: 'Kleinere oder weniger Renditions brauchen weniger',
}
