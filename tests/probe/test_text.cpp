// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "text/cpu_list.hpp"
#include "text/json.hpp"

namespace corescale::probe {
namespace {

TEST(cpu_list, reads_single_cpus_and_ranges_in_order) {
  EXPECT_EQ(parse_cpu_list("0"), std::vector<int>({0}));
  EXPECT_EQ(parse_cpu_list("5,0,2-4"), std::vector<int>({5, 0, 2, 3, 4}));
  EXPECT_EQ(parse_cpu_list("1023-1025"), std::vector<int>({1023, 1024, 1025}));
}

TEST(cpu_list, refuses_what_is_no_list) {
  for (const char* text :
       {"", ",", "1,", ",1", "a", "1-", "-1", "3-1", "1-2-3", " 1", "65536", "99999999999"})
    EXPECT_FALSE(parse_cpu_list(text)) << text;
}

TEST(number, takes_the_whole_text_or_nothing) {
  EXPECT_EQ(parse_number<double>("0.25"), 0.25);
  for (const char* text : {"", "1s", "-1", "nan", "+1", " 1"})
    EXPECT_FALSE(parse_number<double>(text)) << text;
}

TEST(json, escapes_what_json_and_terminals_mind) {
  EXPECT_EQ(json_quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_quoted(std::string_view("\0\n\x1b\x7f", 4)), R"("\u0000\u000a\u001b\u007f")");
}

TEST(json, keeps_utf8_and_replaces_every_other_byte) {
  EXPECT_EQ(json_quoted("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  EXPECT_EQ(json_quoted("a\xFFz"), R"("a\ufffdz")");
  EXPECT_EQ(json_quoted("\xC3"), R"("\ufffd")");                                // cut short
  EXPECT_EQ(json_quoted("\xC0\xAF"), R"("\ufffd\ufffd")");                      // overlong
  EXPECT_EQ(json_quoted("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");            // a surrogate
  EXPECT_EQ(json_quoted("\xF4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // beyond U+10FFFF
}

TEST(json, writer_puts_commas_between_members_and_elements) {
  json_writer json;
  json.open('{');
  json.member("a", 1);
  json.array("b", std::vector<int>{1, 2});
  json.member("c", std::optional<int>());
  json.key("d").open('[');
  json.open('{');
  json.member("e", true);
  json.close('}');
  json.close(']');
  json.member("f", std::numeric_limits<double>::infinity());
  json.close('}');
  EXPECT_EQ(json.text(), R"({"a":1,"b":[1,2],"c":null,"d":[{"e":true}],"f":null})");
}

}  // namespace
}  // namespace corescale::probe
