// Package netguardtest has what the tests of the guard's users share: the addresses
// that must reach nothing, canaries that count who connects, and a name server.
package netguardtest

// Attack is a URL that must reach nothing.
type Attack struct {
	URL  string // %s is the port of the canaries, with a colon
	DNS  string // the address as the DNS could answer it, where it could
	Want string // is in the error of http_get
}

// Attacks are the 57 of the list of 66 that are addresses.
func Attacks() []Attack {
	return []Attack{
		// Loopback spellings.
		{"http://127.0.0.1%s/", "127.0.0.1", "loopback"},
		{"http://127.1%s/", "", "odd way"},
		{"http://127.0.1%s/", "", "odd way"},
		{"http://2130706433%s/", "", "odd way"},
		{"http://0x7f000001%s/", "", "odd way"},
		{"http://0x7f.1%s/", "", "odd way"},
		{"http://017700000001%s/", "", "odd way"},
		{"http://0177.0.0.1%s/", "", "odd way"},
		{"http://127.000.000.001%s/", "", "odd way"},
		{"http://127.0.0.2%s/", "127.0.0.2", "loopback"},
		{"http://127.255.255.254%s/", "127.255.255.254", "loopback"},
		{"http://0%s/", "", "odd way"},
		{"http://0.0.0.0%s/", "0.0.0.0", "reserved"},
		{"http://localhost%s/", "=localhost.test", "local name"},
		{"http://LOCALHOST%s/", "", "local name"},
		{"http://localhost.%s/", "", "local name"},
		{"http://x.localhost%s/", "", "local name"},
		// IPv6.
		{"http://[::1]%s/", "::1", "loopback"},
		{"http://[::]%s/", "::", "tunnelled"},
		{"http://[0:0:0:0:0:0:0:1]%s/", "", "loopback"},
		{"http://[::ffff:127.0.0.1]%s/", "::ffff:127.0.0.1", "tunnelled"},
		{"http://[::ffff:7f00:1]%s/", "", "tunnelled"},
		{"http://[::127.0.0.1]%s/", "::127.0.0.1", "tunnelled"},
		{"http://[64:ff9b::7f00:1]%s/", "64:ff9b::7f00:1", "tunnelled"},
		{"http://[64:ff9b:1::a00:1]%s/", "64:ff9b:1::a00:1", "tunnelled"},
		{"http://[2002:7f00:1::]%s/", "2002:7f00:1::", "tunnelled"},
		{"http://[fe80::1%%25lo]%s/", "fe80::1", "no zones"},
		{"http://[fc00::1]%s/", "fc00::1", "private"},
		{"http://[ff02::1]%s/", "ff02::1", "multicast"},
		// Unicode.
		{"http://127。0。0。1%s/", "", "not ASCII"},
		{"http://①②⑦.0.0.1%s/", "", "not ASCII"},
		{"http://１２７.0.0.1%s/", "", "not ASCII"},
		{"http://local\u00adhost%s/", "", "not ASCII"},
		// Private and special nets.
		{"http://10.0.0.1%s/", "10.0.0.1", "private"},
		{"http://172.16.0.1%s/", "172.16.0.1", "private"},
		{"http://172.31.255.255%s/", "172.31.255.255", "private"},
		{"http://192.168.0.1%s/", "192.168.0.1", "private"},
		{"http://100.64.0.1%s/", "100.64.0.1", "private"},
		{"http://198.18.0.1%s/", "198.18.0.1", "private"},
		{"http://192.0.0.8%s/", "192.0.0.8", "reserved"},
		{"http://224.0.0.1%s/", "224.0.0.1", "multicast"},
		{"http://255.255.255.255%s/", "255.255.255.255", "reserved"},
		// Metadata.
		{"http://169.254.169.254%s/latest/meta-data/", "169.254.169.254", "metadata"},
		{"http://[fd00:ec2::254]%s/", "fd00:ec2::254", "metadata"},
		{"http://169.254.170.2%s/", "169.254.170.2", "metadata"},
		{"http://100.100.100.200%s/", "100.100.100.200", "metadata"},
		{"http://192.0.0.192%s/", "192.0.0.192", "metadata"},
		{"http://metadata.google.internal%s/", "=metadata.google.internal", "local name"},
		// Parser confusion.
		{"http://good@127.0.0.1%s/", "", "user name"},
		{"http://127.0.0.1%s#@good/", "", "loopback"},
		{"http://127.0.0.1%s?@good/", "", "loopback"},
		{`http://good\@127.0.0.1%s/`, "", ""},
		{"http://a@b@127.0.0.1%s/", "", ""},
		{"http://127.0.0.1%%00.good%s/", "", "cannot be read"},
		{"http://127.0.0.1\r\n.good%s/", "", ""},
		{"http://127.0.0.1\t.good%s/", "", ""},
		{"http://%%6cocalhost%s/", "", "cannot be read"},
	}
}

// More are spellings beside the list.
func More() []Attack {
	return []Attack{
		{"http://127.0.0.1.%s/", "", "odd way"},
		{"http://0x7F.0.0.1%s/", "", "odd way"},
		{"http://1.2.3.4.0x%s/", "", "odd way"},
		{"http://local\u200bhost%s/", "", "not ASCII"},
		{"http://ｌｏｃａｌｈｏｓｔ%s/", "", "not ASCII"},
		{"http://%%e2%%91%%a0.0.0.1%s/", "", "not ASCII"},
		{"http://[fec0::1]%s/", "fec0::1", "link-local"},
		{"http://[2001:0:7f00:1::]%s/", "2001:0:7f00:1::", "tunnelled"},
		{"http://[2001:db8::1]%s/", "2001:db8::1", "reserved"},
		{"http://168.63.129.16%s/", "168.63.129.16", "metadata"},
		{"http://metadata%s/", "", "local name"},
		{"http://Metadata.Google.Internal.%s/", "", "local name"},
		{"http://[127.0.0.1]%s/", "", ""},
		{"http://::1%s/", "", ""},
		{"http:127.0.0.1%s/", "", "no host"},
		{"http:///127.0.0.1%s/", "", "no host"},
		{"http://%s/", "", "no host"},
		{"//127.0.0.1%s/", "", ""},
		{"127.0.0.1%s/", "", ""},
		{" http://127.0.0.1%s/", "", ""},
		{"http://127.0.0.1%s:1/", "", ""},
		{"http://exa mple%s/", "", ""},
		{"http://a..b%s/", "", "not a host name"},
		{"http://-%s@127.0.0.1/", "", ""},
	}
}
