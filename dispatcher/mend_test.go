package dispatcher

import "testing"

func TestMended(t *testing.T) {
	for damaged, want := range map[string]string{
		`{'a':'b',}`:                            `{"a":"b"}`,
		`{a: b c, d: [1,, -2.5e3, x]}`:          `{"a":"b c","d":[1,-2.5e3,"x"]}`,
		"{\"a\":\"b\nc\td\u00a0<\xff\"}":        "{\"a\":\"b\\nc\\td\u00a0<\ufffd\"}",
		`{"a":"he said "yes" to it"}`:           `{"a":"he said \"yes\" to it"}`,
		`{"a":"C:\dir\q \'x\' \u00e9\ud83d"}`:   `{"a":"C:\\dir\\q 'x' \u00e9\ud83d"}`,
		`{'a':'it's','b':'it\'s'}`:              `{"a":"it's","b":"it's"}`,
		`{"a":"b" "c":{} 'd':[1]}`:              `{"a":"b","c":{},"d":[1]}`,
		`{"a":True,"b":None,"c":undefined}`:     `{"a":true,"b":null,"c":null}`,
		"{// one\n\"a\":/* two */\"http://b\"}": `{"a":"http://b"}`,
		"{“a”:“b”,`c`:‘d’}":                     `{"a":"b","c":"d"}`,
		`{"a":NaN,"b":012}`:                     `{"a":"NaN","b":"012"}`,
		`{"a":}`:                                "",
		`{"a" 1}`:                               "",
		`{"a":"b}}`:                             "",
		`{"a":{}} {"b":1}`:                      "",
		`{"a":[1}`:                              "",
	} {
		if got, err := mended(damaged); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v, want %s", damaged, got, err, want)
		}
	}
}
