/**
 * German: what the media server says of the media of a publisher, and of the protocol of another server. It has no codes, so these are
 * its English sentences, as in `refusalsDe.ts`.
 */
export const mediaProblemsDe: Readonly<Record<string, string>> = {
  // What is left out of a broadcast
  'Video came before its configuration': 'Das Video kam vor seiner Konfiguration',
  'Audio came before its configuration': 'Der Ton kam vor seiner Konfiguration',
  'A video frame is malformed: the lengths of its {units} do not add up':
    'Ein Videobild ist fehlerhaft: Die Längen seiner {units} gehen nicht auf',
  'A video frame is malformed: it has no time, or no NAL units':
    'Ein Videobild ist fehlerhaft: Es hat keine Zeit, oder keine NAL units',
  'The publisher sends several {kind} tracks; only the first one is taken':
    'Der Publisher sendet mehrere Spuren ({kind}); nur die erste wird angenommen',
  'The clock of the publisher jumps; its times go on as its media arrives':
    'Die Uhr des Publishers springt; seine Zeiten gehen weiter, wie seine Medien ankommen',
  'Timestamps of the publisher stand still or go back; its times go on without them':
    'Zeitstempel des Publishers bleiben stehen oder gehen zurück; seine Zeiten gehen ohne sie weiter',
  'The transport stream is damaged: packets are missing, or do not add up':
    'Der Transportstrom ist beschädigt: Pakete fehlen, oder passen nicht zusammen',
  'The AAC has a layout of channels that was not sent; send mono, stereo, 5.1 or 7.1':
    'Das AAC hat eine Anordnung von Kanälen, die nicht gesendet wurde; senden Sie Mono, Stereo, 5.1 oder 7.1',
  'The audio track with PID {pid} is none of the program': 'Die Tonspur mit der PID {pid} gehört nicht zum Programm',
  'The audio track with PID {pid} has codec {codec}; send {supported} or {last}':
    'Die Tonspur mit der PID {pid} hat den Codec {codec}; senden Sie {supported} oder {last}',
  'Packets were lost and did not come again within the latency; a longer one may help':
    'Pakete gingen verloren und kamen innerhalb der Latenz nicht wieder; eine längere kann helfen',
  'Packets are not encrypted with the keys of the connection':
    'Pakete sind nicht mit den Schlüsseln der Verbindung verschlüsselt',
  'A new key is not for the passphrase of the connection':
    'Ein neuer Schlüssel gehört nicht zur Passphrase der Verbindung',
  'A packet of {codec} has more than {bytes} bytes': 'Ein Paket von {codec} hat mehr als {bytes} Byte',
  'A video message is cut short': 'Eine Nachricht mit Video ist abgeschnitten',
  'An audio message is cut short': 'Eine Nachricht mit Ton ist abgeschnitten',
  'The {codec} configuration cannot be read': 'Die Konfiguration von {codec} ist nicht lesbar',
  'An aggregate message is malformed: its parts do not add up':
    'Eine Sammelnachricht ist fehlerhaft: Ihre Teile gehen nicht auf',
  'A command cannot be read: {problem}': 'Ein Befehl ist nicht lesbar: {problem}',
  // The protocol
  'Media came before the permission to publish': 'Medien kamen vor der Erlaubnis zu senden',
  'Too many commands': 'Zu viele Befehle',
  'Nothing was published in time': 'Es wurde nicht rechtzeitig gesendet',
  'No RTMP handshake came in time': 'Der RTMP-Handshake kam nicht rechtzeitig',
  'publish came before connect': 'publish kam vor connect',
  'This connection publishes already': 'Diese Verbindung sendet schon',
  'a command has no name or number': 'ein Befehl hat keinen Namen oder keine Nummer',
  'AMF0 data is cut short': 'Daten in AMF0 sind abgeschnitten',
  'AMF0 values are nested more than {depth} deep': 'Werte in AMF0 sind mehr als {depth} tief verschachtelt',
  'more than {count} AMF0 values': 'mehr als {count} Werte in AMF0',
  'AMF0 type {type} is unknown': 'der AMF0-Typ {type} ist unbekannt',
  'the unfinished messages are too large together': 'die unfertigen Nachrichten sind zusammen zu groß',
  'too many chunk streams': 'zu viele Chunk-Streams',
  'chunk stream {id} begins with a header that refers to an earlier one':
    'der Chunk-Stream {id} beginnt mit einem Kopf, der auf einen früheren verweist',
  'a message of {bytes} bytes; {most} is the most': 'eine Nachricht mit {bytes} Byte; {most} sind möglich',
  'a message begins before the last one on its chunk stream has ended':
    'eine Nachricht beginnt, bevor die letzte auf ihrem Chunk-Stream zu Ende ist',
  // The answer of another server over WHIP and WHEP
  '{it} names no address for media over UDP': 'sie nennt keine Adresse für Medien über UDP',
  '{it} names addresses of IPv6 alone': 'sie nennt nur Adressen von IPv6',
  '{it} leads media to addresses that are not allowed: {addresses}':
    'sie leitet Medien zu Adressen, die nicht erlaubt sind: {addresses}',
  '{it} sends nothing: no audio or video of it is sendonly or sendrecv.':
    'sie sendet nichts: Darin ist weder Ton noch Video sendonly oder sendrecv.',
  '{it} sends {kind} as {codecs}, which is not served; send {supported} or {last}.':
    'sie sendet {kind} als {codecs}; möglich sind {supported} und {last}.',
  '{it} receives nothing: no audio or video of it is recvonly or sendrecv.':
    'sie empfängt nichts: Darin ist weder Ton noch Video recvonly oder sendrecv.',
  "The stream's {kind} is {codec}, which {it} does not receive.": 'sie empfängt {codec} nicht ({kind} des Streams).',
  "The stream's {kind} is {codec}, and {it} does not ask for {medium}.":
    'sie fragt nicht nach {medium} ({codec} im Stream).',
  '{it} sends nothing: {why}.': 'sie sendet nichts: {why}.',
  '{it} receives nothing: {why}.': 'sie empfängt nichts: {why}.',
  'its audio and video are switched off (port 0) or outside of its BUNDLE group':
    'Ihr Ton und Video sind abgeschaltet (Port 0) oder außerhalb ihrer BUNDLE-Gruppe',
  '{codec} with {offered}, and only {served} is served': '{codec} mit {offered}, möglich ist nur {served}',
  "The stream's {kind} is {codec}; {it} receives {other}.": 'sie empfängt {other} ({kind} des Streams: {codec}).',
  '{problem} To receive the {kind} only, omit the {other}.': '{problem} Ohne {other} geht es mit {kind} allein.',
  '{problem} Browsers that do: {browsers}.': '{problem} Browser, die das können: {browsers}.',
  '{it} sends {what}.': 'sie sendet {what}.',
  // SDP that is malformed
  'The body is not SDP: it does not begin with v=0.': 'sie ist kein SDP: Sie beginnt nicht mit v=0.',
  'The SDP is longer than {most} characters.': 'ihr SDP ist länger als {most} Zeichen.',
  'Line {number} of the SDP {problem}.': 'Zeile {number} ihres SDP {problem}.',
  'is longer than {most} characters': 'ist länger als {most} Zeichen',
  'is not of the form <letter>=<value>': 'hat nicht die Form <Buchstabe>=<Wert>',
  'is the m-line after the {most} that are allowed': 'ist die m-Zeile nach den {most}, die erlaubt sind',
  'is the attribute after the {most} that are allowed': 'ist das Attribut nach den {most}, die erlaubt sind',
  '{it} has no media: there is no m-line in it.': 'sie hat keine Medien: Darin ist keine m-Zeile.',
  '{it} must bundle its media: there is no a=group:BUNDLE in it that names m-lines.':
    'sie muss ihre Medien bündeln: Darin ist kein a=group:BUNDLE, das m-Zeilen nennt.',
  '{it} has {lack} a=mid in m-line {number}; each needs one of 1 to 64 letters, digits and characters of "_.+~-".':
    'sie hat {lack} a=mid in m-Zeile {number}; jede braucht eines aus 1 bis 64 Buchstaben, Ziffern und Zeichen aus „_.+~-“.',
  '{it} has the a=mid of m-line {first} again in m-line {number}; each needs its own.':
    'sie hat das a=mid von m-Zeile {first} noch einmal in m-Zeile {number}; jede braucht ihr eigenes.',
  '{it} has a malformed m-line {number}; it must be like "{example}".':
    'ihre m-Zeile {number} ist fehlerhaft; sie muss aussehen wie „{example}“.',
  '{it} has no a=rtcp-mux in m-line {number} ({kind}); audio and video need it.':
    'sie hat kein a=rtcp-mux in m-Zeile {number} ({kind}); Ton und Video brauchen es.',
  '{it} has {lack} a={name}; the session or m-line {number} needs one of {form}.':
    'sie hat {lack} a={name}; die Sitzung oder m-Zeile {number} braucht eines aus {form}.',
  '{it} has an a=setup that is not known; it must be actpass, active or passive.':
    'sie hat ein unbekanntes a=setup; möglich sind actpass, active und passive.',
  'The {kind} of {it} must be UDP/TLS/RTP/SAVPF, but is {protocol}.':
    '{kind} muss darin UDP/TLS/RTP/SAVPF sein, ist aber {protocol}.',
  '{it} has neither audio nor video; a data channel alone is not served.':
    'sie hat weder Ton noch Video; ein Datenkanal allein ist nicht möglich.',
  no: 'kein',
  'a malformed': 'ein fehlerhaftes',
  '{least} to {most} letters, digits, "+" and "/" (RFC 8839 section 5.4)':
    '{least} bis {most} Buchstaben, Ziffern, „+“ und „/“ (RFC 8839, Abschnitt 5.4)',
  'sha-256, sha-384 or sha-512': 'sha-256, sha-384 oder sha-512',
  video: 'Video',
  audio: 'Ton',
}
